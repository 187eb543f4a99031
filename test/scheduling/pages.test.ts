import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sharedProduct } from '../product.ts';
import { sceneOf, stillAs } from './scene.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let scene: ReturnType<typeof sceneOf>;
beforeAll(async () => {
  product = await sharedProduct();
  scene = sceneOf(product.api);
});
afterAll(() => product.close());

/** A browser without a key and without scripts. */
async function visit(path: string, form?: Record<string, string>, headers: Record<string, string> = {}) {
  const answer = await fetch(new URL(path, product.process.api), {
    redirect: 'manual',
    headers,
    ...(form && { method: 'POST', body: new URLSearchParams(form) }),
  });
  const { status } = answer;
  return { status, headers: answer.headers, text: await answer.text() };
}

const day = '2040-06-12';

async function booked(fields: object = {}) {
  const eventType = await scene.offer({ name: '<Intro> & more', ...fields }, { hours: ['09:00-12:00'] });
  const attendee = { name: 'Grace "G" <b>', email: 'grace@example.com', timezone: 'Europe/Berlin' };
  const { body } = await scene.book(eventType.id, `${day}T09:00:00Z`, { attendee });
  const { confirmationUrl, rescheduleUrl, cancelUrl } = body.data;
  const page = new URL(confirmationUrl).pathname;
  expect(page).toMatch(/^\/b\/[\w-]{22}$/);
  expect([rescheduleUrl, cancelUrl]).toEqual([`${confirmationUrl}/reschedule`, `${confirmationUrl}/cancel`]);
  return { eventType, booking: body.data, page };
}

test('an attendee sees, moves and cancels a booking without a key', async () => {
  const { eventType, booking, page } = await booked();
  const first = await visit(page);
  expect(first.status).toBe(200);
  expect(first.text).toContain('&lt;Intro&gt; &amp; more');
  expect(first.text).toContain('Grace &quot;G&quot; &lt;b&gt;');
  expect(first.text).toMatch(/12 Jun 2040, 11:00\s*–\s*12:00 \(Europe\/Berlin\)/);
  expect(first.text).not.toMatch(/<script|grace@example/);
  expect(Object.fromEntries(first.headers)).toMatchObject({
    'content-type': expect.stringMatching(/^text\/html; charset=utf-8/i),
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex',
    'content-security-policy': expect.stringMatching(/default-src 'none'; style-src 'sha256-.*form-action 'self'/),
  });

  const choose = await visit(`${page}/reschedule`);
  const values = [...choose.text.matchAll(/type="radio" name="start" value="([^"]+)"/g)].map(([, value]) => value!);
  // Three hours on each of seven days, without its own.
  expect(values).toHaveLength(20);
  expect(values[0]).toBe(`${day}T10:00:00.000Z`);
  expect(choose.text).toContain(`href="${page}/reschedule?date=2040-06-19"`);
  // Looking changes nothing.
  expect(await scene.get(`bookings/${booking.id}`)).toMatchObject(stillAs(booking));

  const moved = await visit(`${page}/reschedule`, { start: values[1]!, reason: 'Traffic.' });
  expect([moved.status, moved.headers.get('location')]).toEqual([303, page]);
  expect(await scene.get(`bookings/${booking.id}`)).toMatchObject({ start: values[1], rescheduleReason: 'Traffic.' });
  expect((await scene.book(eventType.id, `${day}T09:00:00Z`)).status).toBe(201);
  const occupied = await visit(`${page}/reschedule`, { start: `${day}T09:00:00.000Z` });
  expect([
    occupied.status,
    occupied.text.includes('The time is taken.'),
    occupied.text.includes('type="radio"'),
  ]).toEqual([409, true, true]);
  expect((await visit(`${page}/reschedule`, { start: `${day}T20:00:00.000Z` })).status).toBe(422);
  expect((await visit(`${page}/reschedule`, {})).status).toBe(400);

  expect((await visit(`${page}/cancel`)).text).toContain(`<form method="post" action="${page}/cancel">`);
  expect((await visit(`${page}/cancel`, { reason: 'Ill.' })).status).toBe(303);
  const cancelled = await scene.get(`bookings/${booking.id}`);
  expect(cancelled).toMatchObject({ status: 'cancelled', cancellationReason: 'Ill.' });
  const again = await visit(`${page}/cancel`);
  expect([again.status, again.text.includes('<form')]).toEqual([200, false]);
  const late = await visit(`${page}/reschedule`, { start: values[2]! });
  expect([late.status, late.text.includes('cancelled')]).toEqual([400, true]);
  const { rows } = await product.database.pool.query(
    `select facts->>'source' as source from event where facts->>'start' >= $1 and type <> 'booking.created'
      and facts->'attendee'->>'name' like 'Grace "G"%'`,
    [day],
  );
  expect(rows.every(({ source }) => source === 'page')).toBe(true);
});

test('a page says with whom and where, and shows its times by day in the zone that is chosen', async () => {
  const { page, eventType } = await booked({ locations: [{ type: 'office', address: 'Here 1,\n2nd floor' }] });
  await scene.request('PATCH', `hosts/${eventType.host}`, { name: 'Ada & Co' });
  const first = await visit(page);
  const { confirmationUrl } = (await scene.get(`bookings?eventTypeId=${eventType.id}`)).bookings[0];
  for (const text of ['Ada &amp; Co, Test', 'office: Here 1, 2nd floor', `href="${confirmationUrl}"`]) {
    expect(first.text).toContain(text);
  }
  const tokyo = await visit(`${page}?timezone=Asia/Tokyo`);
  expect(tokyo.text).toMatch(/12 Jun 2040, 18:00\s*–\s*19:00 \(Asia\/Tokyo\)/);
  expect(tokyo.text).toContain('<option selected>Asia/Tokyo</option>');
  expect((await visit(`${page}?timezone=<script>`)).text).toContain('(Europe/Berlin)');
  const choose = await visit(`${page}/reschedule?timezone=Pacific/Auckland&date=2040-06-13`);
  expect(choose.text).toContain(`href="${page}/reschedule?date=2040-06-20&amp;timezone=Pacific%2FAuckland"`);
  // Hours of one day in UTC end on the next one there.
  const days = [...choose.text.matchAll(/<legend>(\w{3}, \d+ Jun 2040)<\/legend>/g)].map(([, one]) => one);
  expect(days.slice(0, 2)).toEqual(['Wed, 13 Jun 2040', 'Thu, 14 Jun 2040']);
  expect(choose.text).toMatch(/> 21:00\s*–\s*22:00<\/label>/);
  const moved = await visit(`${page}/reschedule`, { start: '2040-06-13T10:00:00.000Z', timezone: 'Pacific/Auckland' });
  expect([moved.status, moved.headers.get('location')]).toEqual([303, `${page}?timezone=Pacific%2FAuckland`]);
});

test('a booking is moved five times an hour from its page; a refused move does not count', async () => {
  const { booking, page } = await booked();
  const move = (hour: string) => visit(`${page}/reschedule`, { start: `${day}T${hour}:00:00.000Z` });
  for (const hour of ['10', '11', '09', '10', '11']) {
    expect((await move('20')).status).toBe(422);
    expect((await move(hour)).status).toBe(303);
  }
  const limited = await move('09');
  expect([limited.status, limited.text.includes('The booking was moved too often within an hour.')]).toEqual([
    429,
    true,
  ]);
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(3_000);
  expect(await scene.get(`bookings/${booking.id}`)).toMatchObject({
    start: `${day}T11:00:00.000Z`,
    rescheduleCount: 5,
  });
  const newStart = `${day}T10:00:00Z`;
  expect((await scene.request('PATCH', `bookings/${booking.id}/reschedule`, { newStart })).status).toBe(200);
  expect((await visit(`${page}/cancel`, {})).status).toBe(303);
});

test('whatever else is sent to a page changes nothing', async () => {
  const { booking, page } = await booked();
  const cross = { 'sec-fetch-site': 'cross-site' };
  const other = page.slice(0, -1) + (page.endsWith('A') ? 'B' : 'A');
  const statuses = [
    (await visit(`${page}/cancel`, {}, cross)).status,
    (await visit(`${page}/cancel`, { reason: 'x'.repeat(501) })).status,
    (await visit(`${page}/cancel`, { reason: 'x'.repeat(20_000) })).status,
    (await visit(`${page}/cancel`, Object.fromEntries(Array.from({ length: 21 }, (_, nth) => [`f${nth}`, ''])))).status,
    (await visit(`${page}/reschedule?date=nonsense`)).status,
    (await visit(`${page}/reschedule?date=9999-12-31`)).status,
    (await visit(`${page}/reschedule?date=1970-01-01`)).status,
    (await visit(other)).status,
    (await visit('/b/nonsense')).status,
    (await visit(`${other}/cancel`, {})).status,
  ];
  expect(statuses).toEqual([403, 400, 413, 400, 200, 200, 200, 404, 404, 404]);
  expect((await visit(other)).headers.get('content-type')).toMatch(/^text\/html/);
  expect(await scene.get(`bookings/${booking.id}`)).toMatchObject(stillAs(booking));
  const answers = [];
  for (let n = 0; n < 31; n++) answers.push((await visit(page)).status);
  expect([answers[0], answers.at(-1)]).toEqual([200, 429]);
});
