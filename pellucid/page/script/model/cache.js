// What decoding remembers, as in pellucid/cache.py: nothing before the first step, so nothing in training.

/** Who may look at whom. allowed: true where a key is a real token (null: all are). firstQuery: the position of the
 *  first query if the mask is causal, else null: a query may look at keys up to and including its own position. */
export class Mask {
  constructor(allowed = null, firstQuery = null) {
    Object.assign(this, { allowed, firstQuery });
  }

  /** The number to add to a score: 0 where the query may look, −∞ where not. */
  added(query, key) {
    const isReal = this.allowed === null || this.allowed[key];
    const isPast = this.firstQuery === null || key <= this.firstQuery + query;
    return isReal && isPast ? 0 : -Infinity;
  }
}

/** The past: each step of decoding appends its keys and values, layer by layer; in training it is empty. */
export class GrowingPast {
  constructor(pairs = []) {
    this.pairs = pairs;
  }

  /** The position of the next token. */
  get position() {
    return this.pairs.length ? this.pairs[0].keys[0].rows : 0;
  }

  /** Remember a layer's new keys and values; returns all of them, the past's first. */
  extend(layer, { keys, values }) {
    const before = this.pairs[layer];
    const join = (past, made) => (before ? made.map((head, h) => past[h].above(head)) : made);
    this.pairs[layer] = { keys: join(before?.keys, keys), values: join(before?.values, values) };
    return this.pairs[layer];
  }

  /** Causal from the next position. */
  mask() {
    return new Mask(null, this.position);
  }

  /** A copy of this past, for beam search when a hypothesis continues in two ways. */
  copy() {
    return new GrowingPast([...this.pairs]);
  }
}
