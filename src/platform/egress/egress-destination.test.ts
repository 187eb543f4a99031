import { describe, expect, test } from '@jest/globals';
import { checkDestination, checkHeader, egressRules, providerRules } from './egress-destination.ts';

const rules = egressRules({ NODE_ENV: 'test' });
const production = egressRules({ NODE_ENV: 'production' });

describe('a destination', () => {
  test.each([
    'https://example.com/hook',
    'https://example.com./hook',
    'https://hooks_1.example.com/a?b=c#d',
    'https://bücher.example/',
    'http://example.com:8080',
    'https://93.184.215.14/',
    'https://[2606:4700::1111]:8443/',
  ])('may be %s', (url) => expect(checkDestination(url, rules)).toBeUndefined());

  test.each([
    ['', /expected an absolute URL/],
    ['example.com/hook', /expected an absolute URL/],
    ['ftp://example.com', /expected an absolute URL/],
    ['file:///etc/passwd', /expected an absolute URL/],
    ['javascript:alert(1)', /expected an absolute URL/],
    ['https://', /expected an absolute URL/],
    ['http://[::1%25eth0]/', /expected an absolute URL/],
    ['http://256.1.1.1/', /expected an absolute URL/],
    [`https://example.com/${'a'.repeat(2_048)}`, /at most 2048 characters/],
    ['http://user@example.com', /user name or password/],
    ['http://user:password@example.com', /user name or password/],
    ['http://:password@example.com', /user name or password/],
    ['http://example.com:0', /port 0/],
    ['http://127.1', /address is not public/],
    ['http://0x7f000001', /address is not public/],
    ['http://017700000001', /address is not public/],
    ['http://2130706433', /address is not public/],
    ['http://①②⑦.⓪.⓪.①', /address is not public/],
    ['http://%31%32%37.0.0.1', /address is not public/],
    ['http:\\\\127.0.0.1\\', /address is not public/],
    ['http://127.0.0.1.', /address is not public/],
    ['http://0', /address is not public/],
    ['http://[::ffff:127.0.0.1]', /address is not public/],
    ['http://[::127.0.0.1]', /address is not public/],
    ['http://[::1]', /address is not public/],
    ['http://localhost', /address is not public/],
    ['http://localhost.', /address is not public/],
    ['http://LOCALHOST:80', /address is not public/],
    ['http://api.localhost', /address is not public/],
    ['http://169.254.169.254/latest/meta-data', /address is not public/],
    ['http://168.63.129.16', /address is not public/],
    ['http://a..b', /not a valid DNS name/],
    ['http://127.0.0.1..', /not a valid DNS name/],
    [`http://${'a'.repeat(64)}.com`, /not a valid DNS name/],
    [`http://${'a.'.repeat(127)}com`, /not a valid DNS name/],
    ['http://-a.com', /not a valid DNS name/],
  ])('may not be %s', (url, problem) => expect(checkDestination(url, rules)).toMatch(problem));

  test('in production is https on two ports, or those that are configured', () => {
    expect(checkDestination('https://example.com', production)).toBeUndefined();
    expect(checkDestination('https://example.com:8443', production)).toBeUndefined();
    expect(checkDestination('http://example.com', production)).toBe('only https is allowed');
    expect(checkDestination('https://example.com:6379', production)).toBe('only the ports 443 and 8443 are allowed');
    const other = egressRules({ NODE_ENV: 'production', EGRESS_PORTS: [9443] });
    expect(checkDestination('https://example.com:9443', other)).toBeUndefined();
    expect(checkDestination('https://example.com', other)).toMatch(/only the ports 9443/);
  });

  test('may be in a range that is opened, in every spelling, and may not in one that is closed', () => {
    const opened = egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: ['127.0.0.0/8'] });
    for (const host of ['127.1', 'localhost', '[::ffff:127.0.0.1]', '0x7f000001']) {
      expect(checkDestination(`http://${host}:8080`, opened)).toBeUndefined();
    }
    for (const host of ['[::1]', '10.0.0.1', '0.0.0.0'])
      expect(checkDestination(`http://${host}`, opened)).toBeDefined();
    const closed = egressRules({
      NODE_ENV: 'test',
      EGRESS_DENY_CIDRS: ['93.184.215.0/24'],
      EGRESS_ALLOW_CIDRS: ['93.0.0.0/8'],
    });
    expect(checkDestination('http://93.184.215.14', closed)).toBe('the address is not public');
  });
});

describe('a header', () => {
  test.each([
    ['X-Custom', 'a value'],
    ['authorization', 'Bearer abc'],
    ['X-Empty', ''],
  ])('may be %s', (name, value) => expect(checkHeader(name, value)).toBeUndefined());

  test.each([
    ['', 'a'],
    ['X Custom', 'a'],
    ['X-Custom:', 'a'],
    ['X-Custom', 'a\r\nX-Other: b'],
    ['X-Custom', 'a\nb'],
    ['X-Custom', 'a\0b'],
    ['X-Custom', 'ř'],
    ['Host', 'internal'],
    ['content-length', '0'],
    ['Transfer-Encoding', 'chunked'],
    ['Connection', 'close'],
    ['Expect', '100-continue'],
  ])('may not be %j: %j', (name, value) => expect(checkHeader(name, value)).toBeDefined());
});

describe('addresses of providers that the environment names', () => {
  const problemOf = (url: string, NODE_ENV: 'production' | 'development') =>
    checkDestination(url, providerRules({ NODE_ENV }));

  test('are public and have TLS in production, on any port', () => {
    expect(problemOf('https://oauth2.googleapis.com:8080/token', 'production')).toBeUndefined();
    for (const url of ['http://oauth2.googleapis.com/token', 'http://127.0.0.1/token', 'https://127.0.0.1/token']) {
      expect(problemOf(url, 'production')).toEqual(expect.any(String));
    }
  });

  test('may be on this machine otherwise, and nowhere else that is not public', () => {
    for (const url of ['http://127.0.0.1:4000/token', 'http://localhost:4000/token', 'https://[::1]:4000/token']) {
      expect(problemOf(url, 'development')).toBeUndefined();
    }
    for (const url of ['http://10.0.0.1/token', 'http://169.254.169.254/token']) {
      expect(problemOf(url, 'development')).toEqual(expect.any(String));
    }
  });
});
