/** Makes commands for a POSIX shell with curl. */
export interface Commands {
  get(path: string): string;
  /** Without a body. */
  post(path: string): string;
  /** @param more arguments of curl, with a space before them */
  send(path: string, body: string, more?: string): string;
  /** @param field of the form, as curl writes it */
  upload(path: string, field: string): string;
}

/** The commands that show a feature in the reference. */
export interface FeatureExample {
  title: string;
  /** A description of the commands, in Markdown. */
  text: string;
  commands(make: Commands): readonly string[];
}

const json = "-H 'Content-Type: application/json'";
const key = '-H "Authorization: Bearer $KEY"';

/** @param base the public base URL, without a slash at its end */
export const commandsAt = (base: string): Commands => ({
  get: (path) => `curl "${base}${path}" ${key}`,
  post: (path) => `curl -X POST ${base}${path} ${key}`,
  send: (path, body, more = '') => `curl ${base}${path} ${key} ${json}${more} \\\n  -d '${body}'`,
  upload: (path, field) => `curl ${base}${path} ${key} -F ${field}`,
});
