// The past of a decoding: the keys and values of earlier tokens, as in pellucid/cache.py. In training it is empty.

/** Which query may attend to which key. allowed: for each key, whether it is a real token (null: all are). firstQuery:
 *  if the mask is causal (a query attends to positions up to its own), the first query's position; otherwise null. */
export class Mask {
  constructor(allowed = null, firstQuery = null) {
    Object.assign(this, { allowed, firstQuery });
  }

  /** Return the number to add to a score: 0 if the query may attend to the key, otherwise −∞. */
  added(query, key) {
    const isReal = this.allowed === null || this.allowed[key];
    const isPast = this.firstQuery === null || key <= this.firstQuery + query;
    return isReal && isPast ? 0 : -Infinity;
  }
}

/** The keys and values of all earlier tokens, for each layer. Each decoding step appends its own. */
export class GrowingPast {
  constructor(pairs = []) {
    this.pairs = pairs;
  }

  /** Return the position of the next token. */
  get position() {
    return this.pairs.length ? this.pairs[0].keys[0].rows : 0;
  }

  /** Append a layer's new keys and values; return all of its keys and values, oldest first. */
  extend(layer, { keys, values }) {
    const before = this.pairs[layer];
    const join = (past, made) => (before ? made.map((head, h) => past[h].above(head)) : made);
    this.pairs[layer] = { keys: join(before?.keys, keys), values: join(before?.values, values) };
    return this.pairs[layer];
  }

  /** Return the causal mask for queries from the next position on. */
  mask() {
    return new Mask(null, this.position);
  }

  /** Copy this past: beam search needs a copy for each continuation of a hypothesis. */
  copy() {
    return new GrowingPast([...this.pairs]);
  }
}
