import { isIP } from 'node:net';
import { connectionHeaders, headerNamePattern, headerValuePattern } from '../core/http-headers.ts';
import type { PlatformEnv } from '../env.ts';
import { AddressRanges } from './address-ranges.ts';
import { isPublicAddress } from './egress-addresses.ts';

/** The allowed destinations of requests to callers' URLs. */
export interface EgressRules {
  httpsOnly: boolean;
  /** Any port when absent. */
  ports?: readonly number[];
  /** Allowed although not public. */
  allowed: AddressRanges;
  /** Forbidden although public. */
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

/**
 * The allowed destinations of requests to providers whose addresses the environment names: any port, and outside
 * production also this machine, where their stand-ins run.
 */
export function providerRules(env: EgressSettings): EgressRules {
  const isProduction = env.NODE_ENV === 'production';
  return {
    httpsOnly: isProduction,
    allowed: new AddressRanges([
      ...(env.EGRESS_ALLOW_CIDRS ?? []),
      ...(isProduction ? [] : ['127.0.0.0/8', '::1/128']),
    ]),
    denied: new AddressRanges(env.EGRESS_DENY_CIDRS ?? []),
  };
}

export const mayReach = ({ allowed, denied }: EgressRules, address: string): boolean =>
  !denied.has(address) && (allowed.has(address) || isPublicAddress(address));

const loopback = ['127.0.0.1', '::1'];
const maxUrlLength = 2_048;
/** Maximum for our own requests: some APIs take a query of a search language in the URL. */
export const maxRequestUrlLength = 32_768;
const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * The addresses of a host that needs no DNS: a literal address, or `localhost`.
 * @param hostname of a parsed URL; IPv6 with or without brackets
 * @returns undefined for any other name
 */
export function knownAddresses(hostname: string): string[] | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) !== 0) return [bare];
  return /(^|\.)localhost\.?$/.test(bare) ? loopback : undefined;
}

/** Whether a URL names an address that is reached only because it is allowed explicitly. */
export function isOpened(url: string, rules: EgressRules): boolean {
  const known = knownAddresses(URL.parse(url)?.hostname ?? '') ?? [];
  return known.some((address) => rules.allowed.has(address) && mayReach(rules, address));
}

const isName = (hostname: string): boolean => {
  const name = hostname.replace(/\.$/, '');
  return name.length <= 253 && name.split('.').every((part) => label.test(part));
};

/**
 * Checks a URL without the DNS. Called when a URL is saved, so that its author sees the problem, and before each request.
 * @param longest in characters
 * @returns the problem as a sentence that begins in lower case; undefined for an allowed URL
 */
export function checkDestination(text: string, rules: EgressRules, maxLength = maxUrlLength): string | undefined {
  const url = text.length <= maxLength ? URL.parse(text) : null;
  const schemes = rules.httpsOnly ? ['https:'] : ['https:', 'http:'];
  if (!url || !['https:', 'http:'].includes(url.protocol)) {
    const beginning = rules.httpsOnly ? 'https://' : 'https:// or http://';
    return `expected an absolute URL of at most ${maxLength} characters that begins with ${beginning}`;
  }
  if (!schemes.includes(url.protocol)) return 'only https is allowed';
  if (url.username !== '' || url.password !== '') return 'a URL with a user name or password is not allowed';
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  if (port === 0) return 'port 0 is not allowed';
  if (rules.ports && !rules.ports.includes(port)) return `only the ports ${rules.ports.join(' and ')} are allowed`;
  const known = knownAddresses(url.hostname);
  if (known) {
    if (known.some((address) => mayReach(rules, address))) return undefined;
    return 'the address is not public';
  }
  return isName(url.hostname) ? undefined : 'the host is not a valid DNS name';
}

/** Checks a caller's header. @returns the problem, in the form of `checkDestination` */
export function checkHeader(name: string, value: string): string | undefined {
  if (!headerNamePattern.test(name)) return 'the name is not a valid header name';
  if (connectionHeaders.has(name.toLowerCase())) return `the header ${name} cannot be set`;
  return headerValuePattern.test(value)
    ? undefined
    : `the value of ${name} contains characters that are not allowed in a header`;
}
