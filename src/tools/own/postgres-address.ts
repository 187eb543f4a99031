import { isIP } from 'node:net';

/** Where a database is and how it is entered. */
interface PostgresAddress {
  host: string;
  /** In the form of a URL: IPv6 in brackets. */
  urlHost: string;
  port: number;
  user: string;
  password: string;
  database: string;
}

const expected = 'expected postgres://user:password@host:port/database without parameters';

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

/**
 * Reads a connection string. Host and port come from nowhere else: parameters, which could name other hosts, sockets or
 * files, are refused.
 * @returns the problem, as a sentence that begins in lower case, or the address
 */
export function postgresAddress(dsn: string): PostgresAddress | string {
  const url = /^postgres(ql)?:\/\//.test(dsn) ? URL.parse(dsn.replace(/^postgres(ql)?:/, 'http:')) : null;
  if (!url || /[\s\\]/.test(dsn)) return expected;
  if (url.search !== '' || url.hash !== '' || dsn.includes('?') || dsn.includes('#')) return expected;
  const [user, password] = [decoded(url.username), decoded(url.password)];
  const database = decoded(url.pathname.slice(1));
  // The parser drops the port that is the default of http.
  const explicit = /@[^/@]*:(\d+)(\/|$)/.exec(dsn)?.[1];
  const port = explicit === undefined ? 5432 : Number(explicit);
  if (!user || password === undefined || !database || database.includes('/') || port < 1 || port > 65_535)
    return expected;
  if (`${user}${password}${database}`.includes('\0')) return expected;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (host === '' || host.includes('%')) return expected;
  return { host, urlHost: isIP(host) === 6 ? `[${host}]` : host, port, user, password, database };
}
