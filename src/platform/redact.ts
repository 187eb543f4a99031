const longestLine = 16 * 1024;
const longestText = 2_000;
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
  { part: /bearer /i, form: /bearer +[^\s"\\]+/gi },
  // The password of a URL, then e-mail addresses. The part before an @ has a limit, so that no line takes long.
  { part: /@/, form: /(?<=:\/\/[^\s"/:@]{0,64}:)[^\s"/@]+(?=@)|[^\s"\\@<>(),:;/=]{1,64}@[0-9A-Za-z][0-9A-Za-z.-]*/g },
];

function shortened(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.length > longestText ? `${value.slice(0, longestText)}… (${value.length} characters)` : value;
  }
  if (Array.isArray(value)) return value.slice(0, 50).map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member)]));
}

/** Truncates the texts of a long line. If that is not enough, only the standard fields are kept. */
function shortenLine(line: string): string {
  const whole = JSON.parse(line);
  const cut = JSON.stringify({ ...(shortened(whole) as object), truncated: true });
  if (cut.length < longestLine) return `${cut}\n`;
  const { level, time, process, requestId, correlationId, msg } = whole;
  const rest = { level, time, process, requestId, correlationId, msg: String(msg).slice(0, longestText) };
  return `${JSON.stringify({ ...rest, truncated: true })}\n`;
}

/**
 * Redacts secrets and e-mail addresses in JSON lines and shortens long lines. The result is still JSON.
 * @param secrets texts that are redacted wherever they appear
 */
export function redactorOf(secrets: readonly string[]): (line: string) => string {
  const known = secrets.filter((secret) => secret.length >= 8).map((secret) => JSON.stringify(secret).slice(1, -1));
  return (line) => {
    let text = line.length > longestLine ? shortenLine(line) : line;
    text = text.replace(secretMembers, `"$1":"${replacement}"`);
    for (const secret of known) if (text.includes(secret)) text = text.replaceAll(secret, replacement);
    for (const { part, form } of secretForms) if (part.test(text)) text = text.replace(form, replacement);
    return text;
  };
}
