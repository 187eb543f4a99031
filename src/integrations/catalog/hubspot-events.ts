import { z } from 'zod';
import { isSameSecret } from '../../platform/security/compare-secrets.ts';
import { type Inbound, maxSignedBytes, type Notice } from '../definition/inbound.ts';
import { hmacOf, isRecent } from '../definition/signatures.ts';

const number = z.union([z.int().nonnegative(), z.string().regex(/^\d{1,20}$/)]).transform(String);

/** https://developers.hubspot.com/docs/api-reference/latest/webhooks/guide: older apps name objects in the type. */
const event = z.object({
  eventId: number,
  subscriptionId: number.nullish(),
  portalId: number,
  occurredAt: z.int().nonnegative().max(8_640_000_000_000_000),
  subscriptionType: z.string().max(200),
  objectTypeId: z.string().max(100).nullish(),
  objectId: number.nullish(),
  propertyName: z.string().max(250).nullish(),
  propertyValue: z.union([z.string(), z.number(), z.boolean()]).nullish(),
});
const events = z.array(event).min(1).max(1_000);
type HubSpotEvent = z.infer<typeof event>;

const maxValueLength = 65_536;

/** @returns undefined for an event that has no trigger */
function meaningOf(event: HubSpotEvent): Pick<Notice, 'trigger' | 'data'> | undefined {
  const { subscriptionType, objectTypeId, objectId, propertyName, propertyValue } = event;
  if (objectId == null) return undefined;
  const occurredAt = new Date(event.occurredAt).toISOString();
  const [noun, verb] = subscriptionType.split('.');
  if (verb === 'creation' && (noun === 'contact' || (noun === 'object' && objectTypeId === '0-1'))) {
    return { trigger: 'contact_created', data: { contactId: objectId, occurredAt } };
  }
  if (verb === 'propertyChange' && (noun === 'deal' || (noun === 'object' && objectTypeId === '0-3'))) {
    const value = String(propertyValue ?? '').slice(0, maxValueLength);
    return { trigger: 'deal_updated', data: { dealId: objectId, property: propertyName ?? '', value, occurredAt } };
  }
  return undefined;
}

/** "This value is not guaranteed to be unique": of the id. An event that is sent again differs in `attemptNumber` alone. */
const keyOf = ({ eventId, subscriptionId, objectId, occurredAt }: HubSpotEvent) =>
  [eventId, subscriptionId ?? '', objectId ?? '', occurredAt].join(':');

/** What HubSpot decodes in an address before it signs. */
const decoded = (url: string) =>
  url.replace(/%(3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi, (code) => decodeURIComponent(code));

/** Events of HubSpot's webhooks, with version 3 of its signature. */
export const hubspotInbound: Inbound = {
  acknowledged: 200,
  notices({ json }) {
    return events
      .safeParse(json)
      .data?.map((event) => ({ accountId: event.portalId, key: keyOf(event), ...meaningOf(event) }));
  },
  maxBodyBytes: (headers, now) =>
    isRecent(headers['x-hubspot-request-timestamp'], 1, now) &&
    /^[A-Za-z0-9+/]{43}=$/.test(headers['x-hubspot-signature-v3'] ?? '')
      ? maxSignedBytes
      : undefined,
  verify({ headers, url, body }, secret, now) {
    const { 'x-hubspot-signature-v3': signature, 'x-hubspot-request-timestamp': timestamp } = headers;
    if (!isRecent(timestamp, 1, now)) return false;
    return isSameSecret(signature, hmacOf(secret, 'base64', `POST${decoded(url)}`, body, timestamp));
  },
};
