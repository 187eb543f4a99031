import type { Egress } from '../platform/egress/egress.ts';
import type { FieldError } from '../platform/errors.ts';
import { postgresAddress } from './own/postgres-address.ts';
import type { Secrets } from './secrets.ts';
import type { Field, ToolServer, Values } from './servers/server.ts';

/** The configuration of a server. */
export interface Configuration {
  enabled: boolean;
  url: string | null;
  values: Values;
  secrets: Secrets;
}

/** A change: absent members stay unchanged, and null removes one. */
export interface ConfigurationChange {
  enabled?: boolean | undefined;
  url?: string | null | undefined;
  values?: Readonly<Record<string, string | null>> | undefined;
  secrets?: Readonly<Record<string, string | null>> | undefined;
}

const maxFieldLength = 4_096;
/** Secrets travel in headers and addresses, which have no spaces; certificates are of several lines. */
const visible = /^[\x21-\x7e]+$/;
const certificates = /^[\t\n\r\x20-\x7e]+$/;

const sentence = (problem: string): string => `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`;

function fieldProblem(name: string, field: Field | undefined, text: string): string | undefined {
  if (!field) return 'This server has no setting of this name.';
  const maxLength = field.maxLength ?? maxFieldLength;
  if (text === '' || text.length > maxLength) return `Expected 1 to ${maxLength} characters.`;
  if (field.choices && !field.choices.includes(text)) return `Expected one of ${field.choices.join(', ')}.`;
  const pattern = field.pattern ?? (name === 'ca' ? certificates : visible);
  return pattern.test(text)
    ? undefined
    : 'The value has the wrong format, or contains characters that are not allowed.';
}

type Part = 'values' | 'secrets';

const fieldOf = (server: ToolServer, part: Part, name: string): Field | undefined => {
  const fields = server[part] ?? {};
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
};

const problemsOf = (server: ToolServer, part: Part, given: ConfigurationChange[Part]): FieldError[] =>
  Object.entries(given ?? {}).flatMap(([name, text]) => {
    const problem = fieldProblem(name, fieldOf(server, part, name), text ?? '-');
    const isRemoval = text === null && fieldOf(server, part, name) !== undefined;
    return problem === undefined || isRemoval ? [] : [{ path: `${part}.${name}`, message: problem }];
  });

type Guard = Pick<Egress, 'checkDestination'>;

function urlProblems(server: ToolServer, url: string | null | undefined, egress: Guard): FieldError[] {
  if (url == null) return [];
  if (server.url === 'none') return [{ path: 'url', message: 'This server does not accept an address.' }];
  const problem = /\s/.test(url) ? 'expected a URL without spaces (%20 stands for one)' : egress.checkDestination(url);
  return problem === undefined ? [] : [{ path: 'url', message: sentence(problem) }];
}

/** Missing parts of the whole configuration, or an unreachable server. */
function problemsOfWhole(server: ToolServer, { url, values, secrets }: Configuration, egress: Guard): FieldError[] {
  if (server.url === 'required' && url === null) return [{ path: 'url', message: 'Required.' }];
  // A server at an address of the organization has no required values or secrets.
  if (url !== null) return [];
  const missing = (part: Part, given: Values) =>
    Object.entries(server[part] ?? {})
      .filter(([name, { required }]) => required && !Object.hasOwn(given, name))
      .map(([name]) => ({ path: `${part}.${name}`, message: 'Required.' }));
  const problems = [...missing('values', values), ...missing('secrets', secrets)];
  if (server.id !== 'postgres' || secrets.dsn === undefined) return problems;
  const address = postgresAddress(secrets.dsn);
  const problem = typeof address === 'string' ? address : egress.checkDestination(`https://${address.urlHost}/`);
  return problem === undefined ? problems : [...problems, { path: 'secrets.dsn', message: sentence(problem) }];
}

/** Whether the change sends secrets to another place than before. */
function movesSecrets(server: ToolServer, before: Configuration, { url, values }: Configuration): boolean {
  if (before.url !== url) return true;
  const deciding = Object.entries(server.values ?? {}).filter(([, { decidesAddress }]) => decidesAddress);
  return deciding.some(([name]) => before.values[name] !== values[name]);
}

const merged = (before: Values, given: Readonly<Record<string, string | null>> = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ ...before, ...given }).filter((entry): entry is [string, string] => entry[1] !== null),
  );

/**
 * Applies a change to the configuration of a server.
 * @param before undefined where it was not configured
 * @returns the new configuration, or what is wrong, with paths `url`, `values.<name>` and `secrets.<name>`
 */
export function applyChange(
  server: ToolServer,
  before: Configuration | undefined,
  change: ConfigurationChange,
  egress: Guard,
): Configuration | FieldError[] {
  const wrong = [
    ...urlProblems(server, change.url, egress),
    ...problemsOf(server, 'values', change.values),
    ...problemsOf(server, 'secrets', change.secrets),
  ];
  if (wrong.length > 0) return wrong;
  const after: Configuration = {
    enabled: change.enabled ?? before?.enabled ?? true,
    url: change.url === undefined ? (before?.url ?? null) : change.url,
    values: merged(before?.values ?? {}, change.values),
    secrets: merged(before?.secrets ?? {}, change.secrets),
  };
  if (before && movesSecrets(server, before, after)) {
    const stale = Object.keys(before.secrets).filter((name) => change.secrets?.[name] === undefined);
    if (stale.length > 0) {
      return stale.map((name) => ({
        path: `secrets.${name}`,
        message: 'Required again, because secrets would be sent to another address. null removes it.',
      }));
    }
  }
  const missing = problemsOfWhole(server, after, egress);
  return missing.length > 0 ? missing : after;
}
