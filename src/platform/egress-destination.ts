import { isIP } from 'node:net';
import { AddressRanges } from './address-ranges.ts';
import { isPublicAddress } from './egress-addresses.ts';
import type { PlatformEnv } from './env.ts';

/** Where requests to addresses that callers choose may go. */
export interface EgressRules {
  httpsOnly: boolean;
  /** Any when absent. */
  ports?: readonly number[];
  /** Opened although they are not public. */
  allowed: AddressRanges;
  /** Closed although they are public. */
  denied: AddressRanges;
}

type EgressSettings = Pick<PlatformEnv, 'NODE_ENV' | 'EGRESS_PORTS' | 'EGRESS_ALLOW_CIDRS' | 'EGRESS_DENY_CIDRS'>;

export function egressRules(env: EgressSettings): EgressRules {
  const httpsOnly = env.NODE_ENV === 'production';
  const ports = env.EGRESS_PORTS ?? (httpsOnly ? [443, 8443] : undefined);
  return {
    httpsOnly,
    ...(ports && { ports }),
    allowed: new AddressRanges(env.EGRESS_ALLOW_CIDRS ?? []),
    denied: new AddressRanges(env.EGRESS_DENY_CIDRS ?? []),
  };
}

export const mayReach = ({ allowed, denied }: EgressRules, address: string): boolean =>
  !denied.has(address) && (allowed.has(address) || isPublicAddress(address));

const loopback = ['127.0.0.1', '::1'];
const longestUrl = 2_048;
const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * What is known of a host without asking anyone: the address that it spells, or this machine's own for `localhost`.
 * @param hostname of a parsed URL; IPv6 with or without brackets
 */
export function knownAddresses(hostname: string): string[] | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) !== 0) return [bare];
  return /(^|\.)localhost\.?$/.test(bare) ? loopback : undefined;
}

const isName = (hostname: string): boolean => {
  const name = hostname.replace(/\.$/, '');
  return name.length <= 253 && name.split('.').every((part) => label.test(part));
};

/**
 * What speaks against sending requests to a URL, as far as can be said without asking the DNS. Asked when the URL is
 * written, to tell who writes it, and again before each request.
 * @returns a sentence for the person who chose it, beginning in lower case; undefined when nothing does
 */
export function checkDestination(text: string, rules: EgressRules): string | undefined {
  const url = text.length <= longestUrl ? URL.parse(text) : null;
  const schemes = rules.httpsOnly ? ['https:'] : ['https:', 'http:'];
  if (!url || !['https:', 'http:'].includes(url.protocol)) {
    return `expected an absolute URL of at most ${longestUrl} characters that begins with https://`;
  }
  if (!schemes.includes(url.protocol)) return 'only https is allowed';
  if (url.username !== '' || url.password !== '') return 'a URL with a user name or password is not allowed';
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  if (port === 0) return 'port 0 is not allowed';
  if (rules.ports && !rules.ports.includes(port)) return `only the ports ${rules.ports.join(' and ')} are allowed`;
  const known = knownAddresses(url.hostname);
  if (known) {
    return known.some((address) => mayReach(rules, address)) ? undefined : 'the address is not a public one';
  }
  return isName(url.hostname) ? undefined : 'the host is not a name that the DNS can have';
}

// What the connection is about belongs to the connection; what is sent says how an answer may be encoded.
const reserved = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What speaks against sending a header that a caller chose, as `checkDestination` says it. */
export function checkHeader(name: string, value: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'the name is not one that a header can have';
  if (reserved.has(name.toLowerCase())) return `the header ${name} cannot be chosen`;
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
    ? undefined
    : `the value of ${name} has characters that no header can have`;
}
