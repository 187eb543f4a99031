import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { readRange } from './core/byte-range.ts';
import { SignedUrls } from './signed-urls.ts';

const key = 'k'.repeat(32);
const options = { key, baseUrl: 'https://files.example.com/base/', seconds: 60 };
const urls = new SignedUrls(options);
const name = `${'Aa0_-'.repeat(9).slice(0, 43)}.png`;
const now = new Date('2026-11-22T10:00:00.900Z');
const later = (seconds: number) => new Date(now.getTime() + seconds * 1000);

describe('a signed address', () => {
  test('has the published form, which anybody with the key can compute', () => {
    const expires = 1795341660;
    const signature = createHmac('sha256', key).update(`${name}\n${expires}`).digest('base64url');
    expect(urls.sign(name, now)).toBe(
      `https://files.example.com/base/files/${name}?expires=${expires}&signature=${signature}`,
    );
  });

  test('holds until its time, and no other name or time does', () => {
    const [, expires, signature] = /expires=(\d+)&signature=(.+)$/.exec(urls.sign(name, now))!;
    const signed = { name, expires, signature };
    expect(urls.verify(signed, now)).toBe(60);
    expect(urls.verify(signed, later(59))).toBe(1);
    expect(urls.verify(signed, later(60))).toBeUndefined();
    for (const changed of [
      { name: name.replace('.png', '.mp4') },
      { expires: String(Number(expires) + 1) },
      { expires: undefined },
      { signature: undefined },
      { signature: '' },
      { signature: `${signature}A` },
      { signature: 'é'.repeat(43) },
      { signature: signature!.toUpperCase() },
    ]) {
      expect(urls.verify({ ...signed, ...changed }, now)).toBeUndefined();
    }
    expect(new SignedUrls({ ...options, key: 'other'.repeat(8) }).verify(signed, now)).toBeUndefined();
    const keyless = new SignedUrls({ ...options, key: undefined });
    expect(keyless.verify(signed, now)).toBeUndefined();
    expect(() => keyless.sign(name)).toThrow('not configured to sign URLs of files');
  });

  test('is recognized among addresses that callers give', () => {
    const url = urls.sign(name, now);
    expect(urls.read(url, now)).toEqual({ name });
    expect(urls.read(`${url}&of=anything`, now)).toEqual({ name });
    expect(urls.read(url.replace('files.example.com', 'FILES.example.com:443'), now)).toEqual({ name });
    for (const refused of [url.slice(0, -1), `${url}&signature=x`, url.split('?')[0]!, url.replace('.png', '/../x')]) {
      expect({ refused, read: urls.read(refused, now) }).toMatchObject({ read: 'refused' });
    }
    expect(urls.read(url, later(60))).toBe('refused');
    for (const elsewhere of [
      url.replace('https', 'http'),
      url.replace('example.com', 'example.com.evil.org'),
      url.replace('/base/', '/'),
      'data:image/png;base64,AAAA',
      'nonsense',
    ]) {
      expect({ elsewhere, read: urls.read(elsewhere, now) }).toMatchObject({ read: 'elsewhere' });
    }
  });
});

test.each([
  [undefined, 'whole'],
  ['bytes=0-0', { first: 0, last: 0 }],
  ['bytes=10-', { first: 10, last: 99 }],
  ['Bytes=90-4000', { first: 90, last: 99 }],
  ['bytes=-5', { first: 95, last: 99 }],
  ['bytes=-500', { first: 0, last: 99 }],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=100-', 'unsatisfiable'],
  ['bytes=100-200', 'unsatisfiable'],
  ['bytes=5-4', 'whole'],
  ['bytes=-', 'whole'],
  ['bytes=0-1,5-6', 'whole'],
  ['lines=0-1', 'whole'],
  ['bytes=a-b', 'whole'],
  ['bytes=99999999999999999999-', 'whole'],
])('of 100 bytes the range %s is %j', (header, expected) => {
  expect(readRange(header, 100)).toEqual(expected);
});
