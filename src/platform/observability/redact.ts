const maxLineLength = 16 * 1024;
const maxTextLength = 2_000;
const replacement = '[redacted]';

/** Fields whose value is always redacted. */
const secretMembers = new RegExp(
  '"(authorization|proxy-authorization|cookie|set-cookie|x-api-key|x-webhook-secret|password|secret|token|api_?key' +
    '|access_?token|refresh_?token|private_?key)":"(?:[^"\\\\]|\\\\.)*"',
  'gi',
);

/** Patterns of secrets. `part` is a fast pre-check, because few lines contain any. */
const secretForms: { part: RegExp; form: RegExp }[] = [
  { part: /sk[_-]/, form: /sk_(?:live|test)_[0-9A-Za-z]+|sk-[0-9A-Za-z_-]{8,}/g },
  { part: /AIza/, form: /AIza[0-9A-Za-z_-]{20,}/g },
  { part: /whsec_/, form: /whsec_[0-9A-Za-z+/=_-]+/g },
  { part: /trg_/, form: /\btrg_[0-9A-Za-z_-]+/g },
  // The path of a page: a token follows it.
  { part: /\/[ab]\//, form: /\/[ab]\/[0-9A-Za-z_-]{16,}/g },
  { part: /bearer /i, form: /bearer +[^\s"\\]+/gi },
];

const maxHostLength = 255;
/** Longest name before the @ of an e-mail address, and before the password of a URL. */
const maxNameLength = 64;

/** Where the password before an @ begins, if the @ ends the user and the password of a URL. */
function findPassword(text: string, from: number, at: number): number | undefined {
  let start = at;
  while (start > from && !/[\s"/@]/.test(text[start - 1]!)) start--;
  const colon = text.indexOf(':', start);
  const isPassword = text.slice(Math.max(from, start - 3), start) === '://' && colon >= 0 && colon + 1 < at;
  return isPassword && colon - start <= maxNameLength ? colon + 1 : undefined;
}

/** Redacts passwords in URLs, and e-mail addresses. One expression for both would take a time that grows with a line's square. */
function withoutAddresses(text: string): string {
  let result = '';
  let from = 0;
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    const password = findPassword(text, from, at);
    if (password !== undefined) {
      result += text.slice(from, password) + replacement;
      from = at;
      continue;
    }
    let start = at;
    while (start > from && at - start < maxNameLength && !/[\s"\\@<>(),:;/=]/.test(text[start - 1]!)) start--;
    const host = /^[0-9A-Za-z][0-9A-Za-z.-]*/.exec(text.slice(at + 1, at + 1 + maxHostLength));
    if (start === at || !host) continue;
    result += text.slice(from, start) + replacement;
    from = at + 1 + host[0].length;
  }
  return result + text.slice(from);
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.length > maxTextLength ? `${value.slice(0, maxTextLength)}… (${value.length} characters)` : value;
  }
  if (Array.isArray(value)) return value.slice(0, 50).map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member)]));
}

/** Truncates the texts of a long line. If that is not enough, only the standard fields are kept. */
function shortenLine(line: string): string {
  const whole = JSON.parse(line);
  const cut = JSON.stringify({ ...(shortened(whole) as object), truncated: true });
  if (cut.length < maxLineLength) return `${cut}\n`;
  const { level, time, process, requestId, correlationId, msg } = whole;
  const rest = { level, time, process, requestId, correlationId, msg: String(msg).slice(0, maxTextLength) };
  return `${JSON.stringify({ ...rest, truncated: true })}\n`;
}

/**
 * Redacts secrets and e-mail addresses in JSON lines and shortens long lines. The result is still JSON.
 * @param secrets texts that are redacted wherever they appear
 */
export function redactorOf(secrets: readonly string[]): (line: string) => string {
  const known = secrets.filter((secret) => secret.length >= 8).map((secret) => JSON.stringify(secret).slice(1, -1));
  return (line) => {
    let text = line.length > maxLineLength ? shortenLine(line) : line;
    text = text.replace(secretMembers, `"$1":"${replacement}"`);
    for (const secret of known) if (text.includes(secret)) text = text.replaceAll(secret, replacement);
    for (const { part, form } of secretForms) if (part.test(text)) text = text.replace(form, replacement);
    return text.includes('@') ? withoutAddresses(text) : text;
  };
}
