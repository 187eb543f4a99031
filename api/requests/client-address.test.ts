import { describe, expect, test } from '@jest/globals';
import { AddressRanges } from '../../src/platform/egress/address-ranges.ts';
import { clientAddress, limitedRange, trustedProxies } from './client-address.ts';

const trusted = new AddressRanges(['127.0.0.0/8', '10.0.0.0/8', '::1', 'fc00::/7']);
const addressOf = (peer: string, headers: Record<string, string> = {}) =>
  clientAddress(peer, (name) => headers[name], trusted);

test('in production no proxy is trusted that the operator has not named', () => {
  const trusts = (NODE_ENV: 'production' | 'development', TRUSTED_PROXIES: string[] | undefined, peer: string) =>
    trustedProxies({ NODE_ENV, TRUSTED_PROXIES }).has(peer);
  for (const peer of ['127.0.0.1', '::1', '10.1.2.3', '172.17.0.1', '192.168.0.1', 'fd00::1']) {
    expect({ peer, trusted: trusts('production', undefined, peer) }).toEqual({ peer, trusted: false });
    expect({ peer, trusted: trusts('development', undefined, peer) }).toEqual({ peer, trusted: true });
  }
  expect(trusts('production', ['172.16.0.0/12'], '172.17.0.1')).toBe(true);
  expect(trusts('production', ['172.16.0.0/12'], '10.1.2.3')).toBe(false);
  expect(trusts('development', ['192.0.2.1'], '127.0.0.1')).toBe(false);
});

describe('clientAddress', () => {
  test.each([
    ['an untrusted peer speaks for itself alone', '203.0.113.9', { 'x-forwarded-for': '1.2.3.4' }, '203.0.113.9'],
    ['a trusted proxy is believed', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9'],
    [
      'what the client wrote itself is not',
      '10.0.0.1',
      { 'x-forwarded-for': '1.1.1.1, 203.0.113.9, 10.0.0.7' },
      '203.0.113.9',
    ],
    [
      'proxies all the way are followed to the end',
      '10.0.0.1',
      { 'x-forwarded-for': '10.0.0.3, 10.0.0.2' },
      '10.0.0.3',
    ],
    ['a mapped address is its IPv4 address', '::ffff:203.0.113.9', {}, '203.0.113.9'],
    ['a mapped trusted peer is trusted', '::ffff:127.0.0.1', { 'x-real-ip': '203.0.113.9' }, '203.0.113.9'],
    [
      'x-real-ip comes before cf-connecting-ip',
      '::1',
      { 'cf-connecting-ip': '1.1.1.1', 'x-real-ip': '2.2.2.2' },
      '2.2.2.2',
    ],
    ['garbage ends the walk', '10.0.0.1', { 'x-forwarded-for': 'garbage, 10.0.0.2' }, '10.0.0.2'],
    ['ports and brackets are no part of it', '10.0.0.1', { 'x-forwarded-for': '[2001:db8::1]:443' }, '2001:db8::1'],
  ])('%s', (_, peer, headers, address) => {
    expect(addressOf(peer, headers as unknown as Record<string, string>)).toBe(address);
  });
});

test('an IPv6 customer is limited by the /64', () => {
  expect(limitedRange('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
  expect(limitedRange('2001:db8:1:2::9')).toBe('2001:db8:1:2::/64');
  expect(limitedRange('::1')).toBe('0:0:0:0::/64');
  expect(limitedRange('203.0.113.9')).toBe('203.0.113.9');
});
