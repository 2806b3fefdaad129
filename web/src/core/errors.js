// Invalid input by the user, in a text or a file.

export class InputError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "InputError";
  }
}
