/** A text of at most so many characters, with a sign where some are missing. */
export const shortened = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max - 1).toWellFormed()}…` : text;
