// biome-ignore lint/suspicious/noControlCharactersInRegex: such text becomes a header of mails
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
/** Characters that change the displayed order of the text after them, beyond its end, so that it shows another text. */
const reordering = /[\u202a-\u202e\u2066-\u2069]/;

/** Whether a text stays on the line on which mails and calendar entries show it. */
export const isOneLine = (text: string): boolean => !control.test(text) && !reordering.test(text);
