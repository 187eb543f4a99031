import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AddressRanges } from './address-ranges.ts';
import { isPublicAddress, specialIpv4 } from './egress-addresses.ts';
import { checkDestination, type EgressRules } from './egress-destination.ts';

const rules: EgressRules = { httpsOnly: false, allowed: new AddressRanges([]), denied: new AddressRanges([]) };
const refuses = (host: string) => checkDestination(`http://${host}/`, rules) !== undefined;

const octets = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255);
const dotted = (value: number) => octets(value).join('.');
const hexPair = (value: number) => `${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`;

/** Any address of a range of IPv4. */
const within = (range: string) => {
  const [address, bits] = range.split('/') as [string, string];
  const base = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  return fc.integer({ min: 0, max: 2 ** (32 - Number(bits)) - 1 }).map((offset) => base + offset);
};
const special = fc.constantFrom(...specialIpv4).chain(within);
const isSpecial = new AddressRanges(specialIpv4);
const ordinary = fc.nat(0xffffffff).filter((value) => !isSpecial.has(dotted(value)));

type Digits = (value: number) => string;
const digits = fc.constantFrom<Digits>(
  (value) => String(value),
  (value) => `0x${value.toString(16)}`,
  (value) => `0X${value.toString(16).toUpperCase()}`,
  (value) => `0x000${value.toString(16)}`,
  (value) => (value === 0 ? '0' : `0${value.toString(8)}`),
  (value) => `000${value.toString(8)}`,
);
const letters = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => [...text].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join(''),
  (text) => text.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
  (text) => text.replaceAll('.', '\u3002'),
  (text) => `${text}.`,
  (text) => `user@${text}`,
  (text) => `${text}:8080`,
);
/** Every way to write an IPv4 address that a browser takes: one to four parts, each in any base. */
const spellings = fc.record({
  write: fc.tuple(digits, digits, digits, digits),
  parts: fc.integer({ min: 1, max: 4 }),
  letters,
});
const spell = (
  value: number,
  { write, parts, letters }: typeof spellings extends fc.Arbitrary<infer S> ? S : never,
) => {
  const all = octets(value);
  const last = all.slice(parts - 1).reduce((sum, part) => sum * 256 + part, 0);
  return letters([...all.slice(0, parts - 1), last].map((part, at) => write[at]!(part)).join('.'));
};

describe('addresses', () => {
  test('of special IPv4 ranges are refused in every spelling', () => {
    fc.assert(
      fc.property(special, spellings, (value, spelling) => {
        expect(isPublicAddress(dotted(value))).toBe(false);
        expect(refuses(spell(value, spelling))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test('of public IPv4 are let through in every spelling without a user', () => {
    fc.assert(
      fc.property(ordinary, spellings, (value, spelling) => {
        const host = spell(value, spelling);
        expect(isPublicAddress(dotted(value))).toBe(true);
        expect(refuses(host)).toBe(host.includes('@'));
      }),
      { numRuns: 1_000 },
    );
  });

  test('that carry any IPv4 inside IPv6 are refused', () => {
    const carriers: ((value: number) => string)[] = [
      (value) => `::ffff:${dotted(value)}`,
      (value) => `::ffff:${hexPair(value)}`,
      (value) => `0:0:0:0:0:FFFF:${hexPair(value)}`,
      (value) => `::${dotted(value)}`,
      (value) => `::ffff:0:${dotted(value)}`,
      (value) => `64:ff9b::${dotted(value)}`,
      (value) => `64:ff9b:1::${hexPair(value)}`,
      (value) => `2002:${hexPair(value)}::1`,
      (value) => `2001:0:4136:e378:8000:63bf:${hexPair(~value >>> 0)}`,
      (value) => `fe80::5efe:${dotted(value)}`,
    ];
    fc.assert(
      fc.property(fc.nat(0xffffffff), fc.constantFrom(...carriers), (value, carry) => {
        expect(isPublicAddress(carry(value))).toBe(false);
        expect(refuses(`[${carry(value)}]`)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  const groups = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 });
  const write = (parts: number[]) => parts.map((part) => part.toString(16)).join(':');

  test('of IPv6 outside global unicast are refused', () => {
    fc.assert(
      fc.property(groups, ([first, ...rest]) => {
        const address = write([(first! & 0x1fff) | 0x4000, ...rest]);
        for (const moved of [address, write([first! & 0x1fff, ...rest]), write([first! | 0x8000, ...rest])]) {
          expect(isPublicAddress(moved)).toBe(false);
          expect(refuses(`[${moved.toUpperCase()}]`)).toBe(true);
        }
      }),
    );
  });

  test.each([
    '::',
    '::1',
    '100::1',
    '100:0:0:1::1',
    '2001::1',
    '2001:2::1',
    '2001:10::1',
    '2001:20::1',
    '2001:1ff:ffff::1',
    '2001:db8::1',
    '2002::1',
    '2620:4f:8000::1',
    '2d00::1',
    '3000::1',
    '3ffe::1',
    '3fff::1',
    '3fff:fff::1',
    '4000::1',
    '5f00::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'febf::1',
    'fec0::1',
    'ff02::1',
    'fe80::1%eth0',
    '2606:4700::1111%1',
  ])('refused: %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
    expect(refuses(`[${address}]`)).toBe(true);
  });

  test.each([
    '8.8.8.8',
    '1.1.1.1',
    '2001:200::1',
    '2001:4860:4860::8888',
    '2003::1',
    '2606:4700::1111',
    '2a00:1450::1',
    '2c0f::1',
  ])('public: %s', (address) => expect(isPublicAddress(address)).toBe(true));

  test.each(['', 'bogus', '127.1', '0x7f.1', '1.2.3', '1.2.3.4.5', '[::1]', '8.8.8.8 '])('no address: %j', (text) =>
    expect(isPublicAddress(text)).toBe(false),
  );
});
