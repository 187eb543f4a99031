import { isIP } from 'node:net';
import { z } from 'zod';

/** Keys for secrets at rest: `id:base64` pairs separated by commas. The first key seals, every key opens. */
export const sealingKeys = z
  .string()
  .regex(
    /^[a-z0-9]{1,16}:[A-Za-z0-9+/]{43}=(,[a-z0-9]{1,16}:[A-Za-z0-9+/]{43}=)*$/,
    'expected id:base64-of-32-bytes[,…]',
  )
  .refine((ring) => {
    const ids = ring.split(',').map((key) => key.split(':')[0]);
    return new Set(ids).size === ids.length;
  }, 'contains the same key id twice');

export const secret = z.string().min(32, 'expected at least 32 characters');
/** A key issued by another service and sent in a header. */
export const foreignKey = z.string().regex(/^[\x21-\x7e]+$/, 'expected visible ASCII characters without spaces');
/** `true`, `false`, the path of a CA's certificate, or the paths of CA (may be empty), client certificate and client key. */
export const tls = z.string().regex(/^[^,]+$|^[^,]*,[^,]+,[^,]+$/, 'expected true, false, CA, or CA,certificate,key');
export const port = z.coerce.number().int().min(0).max(65535);
export const url = z.string().refine((value) => URL.canParse(value), 'expected a URL');
export const httpUrl = z
  .string()
  .refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), 'expected http:// or https://');

/** Headers in OpenTelemetry's format; values are percent-encoded. */
export const headers = z.string().regex(/^[^=,\s]+=[^,]+(,[^=,\s]+=[^,]+)*$/, 'expected name=value[,…]');

export const split = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
/** Items separated by commas. Defaults are texts too. */
export const list = z.string().transform(split);
const isRange = (text: string): boolean => {
  const [address = '', bits] = text.split('/');
  const width = isIP(address) === 6 ? 128 : 32;
  return isIP(address) !== 0 && (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= width));
};
export const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65535;
export const addressRanges = z
  .string()
  .refine((text) => split(text).every(isRange), 'expected addresses or CIDR ranges separated by commas')
  .transform(split);
