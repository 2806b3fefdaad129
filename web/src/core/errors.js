// What the user wrote is wrong, or the file that was given.

export class InputError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "InputError";
  }
}
