/** An address of the environment without a slash at its end. */
export const withoutSlash = (url: string): string => url.replace(/\/+$/, '');
