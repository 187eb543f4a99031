import type { Answer, ApiClient } from '../api-client.ts';

const base = '/api/v1/scheduling';

/** What tests of scheduling ask, in few words. Days are far ahead. */
export const sceneOf = (api: ApiClient) => {
  const request = (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer> =>
    api.request(method, `${base}/${path}`, body, headers);
  const must = async (status: number, answer: Promise<Answer>) => {
    const { status: got, body } = await answer;
    if (got !== status) throw new Error(`Answered ${got}: ${JSON.stringify(body)}`);
    return body.data;
  };
  const attendee = { name: 'Grace', email: 'grace@example.com' };
  return {
    request,
    attendee,
    /** Outside scheduling. */
    at: (path: string) => must(200, api.get(path)),
    get: (path: string) => must(200, api.get(`${base}/${path}`)),
    put: (path: string, body: object) => must(200, request('PUT', path, body)),
    make: (path: string, body: object) => must(201, request('POST', path, body)),
    /** Event type of a host with the given hours every day. */
    async offer(fields: object = {}, { timezone = 'UTC', hours = ['00:00-24:00'] as string[] | null } = {}) {
      const host = (await must(201, request('POST', 'hosts', { name: 'Host' }))).id;
      const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
      const weeklyHours = Object.fromEntries(days.map((day) => [day, hours]));
      await must(200, request('PUT', 'availability/rules', { timezone, weeklyHours, hostId: host }));
      const given = { name: 'Offer', duration: 60, hostId: host, ...fields };
      return { host, ...(await must(201, request('POST', 'event-types', given))) };
    },
    book: (eventTypeId: string, start: string, more: object = {}, headers?: Record<string, string>) =>
      request('POST', 'bookings', { eventTypeId, start, attendee, ...more }, headers),
    async open(eventTypeId: string, start: string, end = start, timezone = 'UTC'): Promise<string[]> {
      const query = new URLSearchParams({ eventTypeId, start, end, timezone });
      const { slots } = await must(200, request('GET', `availability?${query}`));
      return slots
        .filter(({ available }: { available: boolean }) => available)
        .map((one: { start: string }) => one.start);
    },
  };
};

/** What a booking still is later, when its effects have gone on. */
export const stillAs = ({ effects: _, ...booking }: { effects: unknown }) => booking;

/** What a refusal says, in short. */
export const outcomeOf = ({ status, body }: Answer) => ({
  status,
  code: body.error?.code,
  reason: body.error?.details?.reason ?? body.error?.details?.limit,
});
