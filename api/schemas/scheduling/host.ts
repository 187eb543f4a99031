import { z } from '@hono/zod-openapi';
import { prefixedIdInPath } from '../ids.ts';
import { filledLine } from '../text.ts';
import { alike, hostId, timezone } from './values.ts';

export const hostInPath = prefixedIdInPath('id', hostId);

/** An address of mail. */
export const email = z
  .email({ error: ({ input }) => (input === undefined ? undefined : 'Expected an e-mail address.') })
  .max(254)
  .openapi({ format: 'email', maxLength: 254 });

const fields = {
  name: filledLine(200),
  email: email.nullable().openapi({ description: 'Default null.' }),
  timezone: timezone.openapi({ description: 'Default UTC.' }),
};

export const newHostSchema = z.object({ ...z.object(fields).partial().shape, name: fields.name }).openapi('NewHost');
export const hostChangeSchema = z.object(fields).partial().openapi('HostChange');

export const hostSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    timezone: z.string(),
    isDefault: z.boolean().openapi({ description: 'Whether this host is used for event types that name no host.' }),
  })
  .openapi('Host');
export const hostListSchema = z.object({ hosts: z.array(hostSchema) });

const given = { name: 'Ada Lovelace', email: 'ada@example.com', timezone: 'Europe/London' };
export const newHostExamples = { A: { name: 'Room 1' }, B: given };
export const hostChangeExamples = { A: { timezone: 'Europe/Berlin' }, B: { email: null } };
const shown = { id: hostId, ...given, isDefault: false };
export const hostExamples = alike(shown);
export const hostListExamples = alike({ hosts: [shown] });
