// Matrices of doubles, with one row for each position, and the operations that the model needs.

export class Matrix {
  constructor(rows, columns, data = new Float64Array(rows * columns)) {
    Object.assign(this, { rows, columns, data });
  }

  get size() {
    return `${this.rows}×${this.columns}`;
  }

  at(row, column) {
    return this.data[row * this.columns + column];
  }

  row(row) {
    return this.data.subarray(row * this.columns, (row + 1) * this.columns);
  }

  /** Apply f(number, row, column) to each number. */
  map(f) {
    const made = new Matrix(this.rows, this.columns);
    for (let place = 0, row = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++, place++)
        made.data[place] = f(this.data[place], row, column);
    }
    return made;
  }

  plus(other) {
    return this.map((x, row, column) => x + other.at(row, column));
  }

  /** Return A · B: each number is the dot product of a row of A and a column of B. */
  times(other) {
    return this.timesTransposed(other.transposed());
  }

  /** Return A · Bᵀ: each number is the dot product of a row of A and a row of B. */
  timesTransposed(other) {
    const made = new Matrix(this.rows, other.rows);
    for (let place = 0, row = 0; row < this.rows; row++) {
      for (let column = 0; column < other.rows; column++, place++) {
        let sum = 0;
        for (let i = row * this.columns, j = column * this.columns, end = i + this.columns; i < end; i++, j++) {
          sum += this.data[i] * other.data[j];
        }
        made.data[place] = sum;
      }
    }
    return made;
  }

  transposed() {
    return new Matrix(this.columns, this.rows).map((_, row, column) => this.at(column, row));
  }

  /** Split the columns into `parts` matrices of equal width. */
  split(parts) {
    const width = this.columns / parts;
    const slice = (part) => new Matrix(this.rows, width).map((_, row, column) => this.at(row, part * width + column));
    return Array.from({ length: parts }, (_, part) => slice(part));
  }

  /** Join matrices side by side: the opposite of `split`. */
  static besideEachOther(parts) {
    const width = parts[0].columns;
    const made = new Matrix(parts[0].rows, width * parts.length);
    return made.map((_, row, column) => parts[Math.floor(column / width)].at(row, column % width));
  }

  /** Add the rows of another matrix below. */
  above(other) {
    const made = new Matrix(this.rows + other.rows, this.columns);
    made.data.set(this.data);
    made.data.set(other.data, this.data.length);
    return made;
  }
}
