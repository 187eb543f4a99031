/** A failure with a code of its own in the output of a command. */
export class CommandFailure extends Error {
  override name = 'CommandFailure';
  readonly code: string;
  readonly details: object | undefined;

  constructor(code: string, message: string, details?: object) {
    super(message);
    this.code = code;
    this.details = details;
  }
}
