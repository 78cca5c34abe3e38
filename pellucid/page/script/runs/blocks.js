// Blocks: the numbers in the page's file, little-endian, compressed, in base64. A block is unpacked when a view needs it.

/** What is in a block of the page, an ArrayBuffer; a block is unpacked once. */
export const openBlock = (name) => {
  if (!openedBlocks.has(name)) openedBlocks.set(name, unpack(document.getElementById(`block-${name}`).textContent));
  return openedBlocks.get(name);
};

const openedBlocks = new Map();

const unpack = (text) => {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place++) bytes[place] = letters.charCodeAt(place);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
};

/** The float32 numbers at a place in a block; 16 bits a number are widened, which changes none. */
export const numbersIn = (buffer, { offset, type = "float32" }, count) => {
  if (type === "float32") return new Float32Array(buffer, offset, count);
  return Float32Array.from(new Uint16Array(buffer, offset, count), widened);
};

/** The number that 16 bits mean: a sign, five bits of exponent, ten of fraction. */
const widened = (bits) => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
};
