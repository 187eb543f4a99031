import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PublicPages } from '../../src/scheduling/bookings/public-pages.ts';
import { eventTypeIds } from '../../src/scheduling/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { secrets } from '../operator.ts';
import { sharedProduct } from '../product.ts';
import { sceneOf } from './scene.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let scene: ReturnType<typeof sceneOf>;
beforeAll(async () => {
  product = await sharedProduct();
  scene = sceneOf(product.api);
});
afterAll(() => product.close());

const newAddress = () => `198.18.${[...randomBytes(2)].join('.')}`;

/** A browser without a key and without scripts, at an address of its own. */
const browserAt =
  (address = newAddress()) =>
  async (path: string, form?: Record<string, string> | string, headers: Record<string, string> = {}) => {
    const answer = await fetch(new URL(path, product.process.api), {
      redirect: 'manual',
      headers: { 'x-forwarded-for': address, ...headers },
      ...(form !== undefined && { method: 'POST', body: typeof form === 'string' ? form : new URLSearchParams(form) }),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
const visit = browserAt();

const day = '2040-06-12';
const escaped = (text: string) => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"');

const offer = async (fields: object = {}) => {
  const eventType = await scene.offer({ name: 'Intro call', ...fields }, { hours: ['09:00-12:00'] });
  return { ...eventType, page: new URL(eventType.bookingUrl).pathname as string };
};

/** The fields of the form of a page, as it shows them. */
function fieldsOf(text: string): Record<string, string> {
  const inputs = [...text.matchAll(/<input type="hidden" name="([\w-]+)" value="([^"]*)">/g)];
  return Object.fromEntries(inputs.map(([, name, value]) => [name!, escaped(value!)]));
}
/** The name of the field with a label. */
const fieldNamed = (text: string, label: string): string =>
  new RegExp(`<label for="([\\w-]+)">${label}`).exec(text)?.[1] ??
  new RegExp(`name="([\\w-]+)"[^>]*> ${label}`).exec(text)![1]!;

const formAt = async (page: string, start = `${day}T09:00:00Z`, more: Record<string, string> = {}) => {
  const shown = await visit(`${page}?${new URLSearchParams({ start, ...more })}`);
  expect(shown.status).toBe(200);
  return { text: shown.text, fields: fieldsOf(shown.text) };
};
let visitors = 0;
/** At an e-mail address of her own each time: few bookings an hour are made for one. */
const grace = () => ({ name: 'Grace Hopper', email: `grace${++visitors}@example.com` });
const bookingsOf = async ({ id }: { id: string }) => (await scene.get(`bookings?eventTypeId=${id}`)).bookings;

test('a visitor without a script chooses a day, a time and a zone, and books', async () => {
  const eventType = await offer({
    description: 'A first talk.\nBring <questions>.',
    locations: [{ type: 'office', address: 'Here 1' }],
    questions: [
      { label: 'Company', type: 'text', required: true },
      { label: 'News', type: 'checkbox' },
    ],
  });
  const hook = await scene.make('webhooks', { url: 'https://hooks.example.com/booked', events: ['booking.created'] });
  await scene.request('PATCH', `hosts/${eventType.host}`, { name: 'Ada & Co' });
  const { page } = eventType;
  expect(page).toMatch(/^\/book\/test\/[a-z0-9-]+\/intro-call/);
  const times = await visit(`${page}?date=${day}&timezone=Asia/Tokyo`);
  expect(times.status).toBe(200);
  for (const text of ['Intro call', 'Ada &amp; Co, Test', 'Bring &lt;questions&gt;.', 'office: Here 1', '60 minutes']) {
    expect(times.text).toContain(text);
  }
  expect(times.text).not.toContain('<script');
  expect(Object.fromEntries(times.headers)).toMatchObject({
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex',
    'x-frame-options': 'DENY',
    'content-security-policy': expect.stringMatching(
      /default-src 'none';.*form-action 'self';.*frame-ancestors 'none'$/,
    ),
  });
  expect(times.text).toContain('<option selected>Asia/Tokyo</option>');
  expect(times.text).toContain('date=2040-06-19&amp;timezone=Asia%2FTokyo');
  const links = [...times.text.matchAll(/<li><a href="([^"]+)" aria-label="([^"]+)"/g)];
  expect(links).toHaveLength(21);
  expect(links[0]![2]).toMatch(/Tue, 12 Jun 2040, 18:00\s*–\s*19:00/);
  const form = await visit(escaped(links[0]![1]!));
  expect(form.text).toMatch(/12 Jun 2040, 18:00\s*–\s*19:00 \(Asia\/Tokyo\)/);
  expect(await bookingsOf(eventType)).toEqual([]);

  const answers = { [fieldNamed(form.text, 'Company')]: 'Navy', [fieldNamed(form.text, 'News')]: 'yes' };
  const visitor = grace();
  const sent = { ...fieldsOf(form.text), ...visitor, ...answers, website: '' };
  const done = await visit(page, sent);
  expect(done.status).toBe(200);
  expect(done.text).toContain('The booking is confirmed.');
  expect(done.text).toMatch(/12 Jun 2040, 18:00\s*–\s*19:00 \(Asia\/Tokyo\)/);
  expect(done.text).toContain('office: Here 1');
  const [booking, ...others] = await bookingsOf(eventType);
  expect(others).toEqual([]);
  expect(booking).toMatchObject({
    start: `${day}T09:00:00.000Z`,
    attendee: { ...visitor, phone: null, timezone: 'Asia/Tokyo' },
    responses: { Company: 'Navy', News: true },
    location: { type: 'office', url: null },
  });
  expect(booking.effects.map(({ type }: { type: string }) => type)).toContain('attendee_mail');
  expect(done.text).toContain(`href="${booking.confirmationUrl}"`);
  expect((await visit(new URL(booking.confirmationUrl).pathname)).status).toBe(200);
  const [delivery] = (await scene.at(`/v1/webhooks/${hook.id}/deliveries`)).deliveries;
  const { requestBody } = await scene.at(`/v1/webhooks/${hook.id}/deliveries/${delivery.id}`);
  expect(JSON.parse(requestBody)).toMatchObject({ event: 'booking.created', data: { id: booking.id, source: 'page' } });
  // Sending the same form again, such as by reloading the page, makes one booking.
  expect((await visit(page, sent)).text).toContain(`href="${booking.confirmationUrl}"`);
  expect(await bookingsOf(eventType)).toHaveLength(1);
});

test('each field says what is wrong with it, and keeps what was filled in', async () => {
  const eventType = await offer({
    locations: [{ type: 'phone' }, { type: 'office' }],
    questions: [
      { label: 'Team', type: 'select', required: true, options: ['Red', 'B"lue'] },
      { label: 'Terms', type: 'checkbox', required: true },
      { label: 'Heads', type: 'number' },
      { label: 'Why', type: 'textarea', required: true },
    ],
  });
  const { text, fields } = await formAt(eventType.page);
  const named = (label: string) => fieldNamed(text, label);
  const wrong = await visit(eventType.page, {
    ...fields,
    name: ' ',
    email: 'nowhere',
    location: 'moon',
    [named('Team')]: 'Green',
    [named('Heads')]: 'many <b>',
    [named('Why')]: '',
  });
  expect(wrong.status).toBe(400);
  const says = (field: string, message: string) =>
    expect(wrong.text).toContain(`<p class="wrong" id="${field}-wrong">${message}</p>`);
  says('name', 'Required.');
  says('email', 'Expected an e-mail address.');
  says('location', 'Choose one of the options.');
  says(named('Team'), 'Choose one of the options.');
  says(named('Terms'), 'This must be ticked.');
  says(named('Heads'), 'Expected a number.');
  says(named('Why'), 'Required.');
  expect(wrong.text).toContain('value="nowhere"');
  expect(wrong.text).toContain('value="many &lt;b&gt;"');
  expect(wrong.text).toContain('The booking was not made.');
  expect(wrong.text).toMatch(/12 Jun 2040, 09:00/);
  const noTime = await visit(eventType.page, { ...fields, ...grace(), start: 'soon' });
  expect([noTime.status, noTime.text.includes('Choose a time.')]).toEqual([400, true]);
  expect(noTime.text).toContain('type="radio"');
  expect(await bookingsOf(eventType)).toEqual([]);

  const right = { [named('Team')]: 'B"lue', [named('Terms')]: 'yes', [named('Heads')]: '3', [named('Why')]: 'a\nb' };
  const done = await visit(eventType.page, { ...fieldsOf(wrong.text), ...grace(), location: 'office', ...right });
  expect(done.status).toBe(200);
  expect(await bookingsOf(eventType)).toMatchObject([
    { location: { type: 'office' }, responses: { Team: 'B"lue', Terms: true, Heads: '3', Why: 'a\nb' } },
  ]);
});

test('of two forms for one time one is booked, and the other one offers other times', async () => {
  const eventType = await offer();
  const [one, two] = [await formAt(eventType.page), await formAt(eventType.page)];
  const send = ({ fields }: typeof one, name: string) => browserAt()(eventType.page, { ...fields, ...grace(), name });
  const answers = await Promise.all([send(one, 'One'), send(two, 'Two')]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  const refused = answers.find(({ status }) => status === 409)!;
  expect(refused.text).toContain('The time is taken. Choose another one.');
  const name = answers.indexOf(refused) === 0 ? 'One' : 'Two';
  expect(refused.text).toContain(`value="${name}"`);
  const others = [...refused.text.matchAll(/type="radio" name="start" value="([^"]+)"/g)].map(([, start]) => start!);
  expect(others).toHaveLength(20);
  expect(others).not.toContain(`${day}T09:00:00.000Z`);
  const moved = await visit(eventType.page, { ...fieldsOf(refused.text), ...grace(), name, start: others[0]! });
  expect(moved.status).toBe(200);
  expect(await bookingsOf(eventType)).toHaveLength(2);
  const closed = await visit(eventType.page, { ...one.fields, ...grace(), start: `${day}T20:00:00Z` });
  expect([closed.status, closed.text.includes('The time is not open.')]).toEqual([422, true]);
});

test('a form is accepted only with the token of its page, and only from the page', async () => {
  const [eventType, other] = [await offer(), await offer()];
  const { fields } = await formAt(eventType.page);
  const send = (more: Record<string, string>, headers = {}) =>
    visit(eventType.page, { ...fields, ...grace(), ...more }, headers);
  const pages = new PublicPages(secrets.URL_SIGNING_KEY, 'http://127.0.0.1');
  const uuid = eventTypeIds.parse(eventType.id)!;
  const hour = 3_600_000;
  const forged = new PublicPages('v'.repeat(32), 'http://127.0.0.1').formTokenOf(uuid);
  const old = pages.formTokenOf(uuid, Date.now() - 12 * hour);
  const foreign = (await formAt(other.page)).fields.token!;
  const ahead = pages.formTokenOf(uuid, Date.now() + 13 * hour);
  for (const token of ['', 'x', forged, old, foreign, ahead, `${fields.token!.slice(0, -1)}é`]) {
    const answer = await send({ token });
    expect([token, answer.status]).toEqual([token, 400]);
    expect(answer.text).toContain('Check it and send it again.');
    expect(answer.text).toContain('value="Grace Hopper"');
    expect(fieldsOf(answer.text).token).not.toBe(token);
  }
  expect((await send({}, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  expect((await visit(eventType.page, 'start=1', { 'content-type': 'text/plain' })).status).toBe(415);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  expect((await visit(eventType.page, `name=${'x'.repeat(66_000)}`, form)).status).toBe(413);
  expect((await visit(eventType.page, 'a=1&'.repeat(100), form)).status).toBe(400);
  expect(await bookingsOf(eventType)).toEqual([]);
  const young = pages.formTokenOf(uuid, Date.now() - 11 * hour);
  expect((await send({ token: young })).status).toBe(200);
});

test('who fills in the hidden field sees a booking that was not made', async () => {
  const eventType = await offer({ locations: [{ type: 'office', address: 'Here 1' }] });
  const { text, fields } = await formAt(eventType.page);
  expect(text).toMatch(/<div hidden>.*\n.*name="website" tabindex="-1"/);
  const visitor = grace();
  const trapped = await visit(eventType.page, { ...fields, ...visitor, website: 'https://spam.example.com' });
  expect([trapped.status, await bookingsOf(eventType)]).toEqual([200, []]);
  const booked = await visit(eventType.page, { ...fields, ...visitor });
  // But for the address of its page the answer is that of a booking.
  const withoutLink = (page: string) => page.replace(/\/b\/[\w-]{22}"/, '"');
  expect(trapped.text).not.toBe(booked.text);
  expect(withoutLink(trapped.text)).toBe(withoutLink(booked.text));
  expect((await visit(eventType.page, { website: 'x' })).status).toBe(200);
  expect(await bookingsOf(eventType)).toHaveLength(1);
});

test('an address makes 20 bookings an hour; what is refused does not count', async () => {
  const eventType = await offer({ duration: 5 });
  const { fields } = await formAt(eventType.page);
  const address = newAddress();
  const from = browserAt(address);
  const at = (minutes: number) => new Date(Date.parse(`${day}T09:00:00Z`) + minutes * 60_000).toISOString();
  const send = (visitor: typeof from, start: string) => visitor(eventType.page, { ...fields, ...grace(), start });
  for (let count = 0; count < 20; count++) {
    if (count === 10) expect((await send(from, at(-60))).status).toBe(422);
    expect((await send(from, at(count * 5))).status).toBe(200);
  }
  const limited = await send(from, at(100));
  expect(limited.status).toBe(429);
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(3_000);
  expect(limited.headers.get('content-type')).toMatch(/^text\/html/);
  expect((await from(eventType.page)).status).toBe(200);
  expect((await send(browserAt(), at(100))).status).toBe(200);
});

test('at most 5 bookings an hour are made for an e-mail address, from wherever', async () => {
  const eventType = await offer({ duration: 5 });
  const { fields } = await formAt(eventType.page);
  const visitor = grace();
  const at = (minutes: number) => new Date(Date.parse(`${day}T09:00:00Z`) + minutes * 60_000).toISOString();
  const send = (start: string, more = {}) => browserAt()(eventType.page, { ...fields, ...visitor, start, ...more });
  for (let count = 0; count < 5; count++) {
    // Neither does a refused booking count, nor one that was made before.
    expect((await send(at(-60))).status).toBe(422);
    expect((await send(at(count * 5))).status).toBe(200);
    expect((await send(at(count * 5))).status).toBe(200);
  }
  for (const email of [visitor.email, visitor.email.toUpperCase()]) {
    const limited = await send(at(60), { email });
    expect([limited.status, limited.text.includes('Too many bookings were made within an hour.')]).toEqual([429, true]);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(3_000);
  }
  expect((await send(at(60), grace())).status).toBe(200);
  expect(await bookingsOf(eventType)).toHaveLength(6);
});

test('only pages of the origins that the event type names may show it in a frame', async () => {
  const origins = ['https://www.example.com', 'https://shop.example.com:8443'];
  const eventType = await offer({ embedOrigins: origins });
  expect(eventType.embedOrigins).toEqual(origins);
  const { headers, text } = await visit(`${eventType.page}?start=${day}T09:00:00Z`);
  expect(headers.get('x-frame-options')).toBeNull();
  expect(headers.get('content-security-policy')).toMatch(
    /; frame-ancestors https:\/\/www\.example\.com https:\/\/shop\.example\.com:8443$/,
  );
  const done = await visit(eventType.page, { ...fieldsOf(text), ...grace() }, { 'sec-fetch-site': 'same-origin' });
  expect(done.status).toBe(200);
  expect(done.headers.get('x-frame-options')).toBeNull();
  expect(done.text).toMatch(/target="_blank"/);
  for (const origin of [
    'http://www.example.com',
    'https://www.example.com/',
    'https://a.example.com; script-src *',
    "https://a'b.example.com",
    'https://a,b',
    'https://*.example.com',
    'HTTPS://example.com',
    'https://www.example.com:443',
    '*',
  ]) {
    const refused = await scene.request('PATCH', `event-types/${eventType.id}`, { embedOrigins: [origin] });
    expect([origin, refused.status]).toEqual([origin, 400]);
  }
  const many = Array.from({ length: 21 }, (_, index) => `https://a${index}.example.com`);
  expect((await scene.request('PATCH', `event-types/${eventType.id}`, { embedOrigins: many })).status).toBe(400);
  await scene.request('PATCH', `event-types/${eventType.id}`, { embedOrigins: [] });
  expect((await visit(eventType.page)).headers.get('x-frame-options')).toBe('DENY');
});

test('inactive, deleted, unknown and foreign event types have no page', async () => {
  const eventType = await offer();
  const { page } = eventType;
  const { fields } = await formAt(page);
  const statusOf = async (path: string) => [
    (await visit(path)).status,
    (await visit(path, { ...fields, ...grace() })).status,
  ];
  const [, , , organization, slug] = page.split('/');
  for (const path of [
    `/book/test/${organization}/unknown`,
    `/book/test/unknown/${slug}`,
    `/book/${organization}/${slug}`,
    `/book/test/${organization}/${'a'.repeat(200)}`,
    `/book/test/${organization}/%27%3B--`,
    `/book/test/${organization}`,
  ]) {
    expect([path, (await visit(path)).status]).toEqual([path, 404]);
  }
  await scene.request('PATCH', `event-types/${eventType.id}`, { isActive: false });
  expect(await statusOf(page)).toEqual([404, 404]);
  await scene.request('PATCH', `event-types/${eventType.id}`, { isActive: true });
  expect((await visit(page)).status).toBe(200);
  await scene.request('DELETE', `event-types/${eventType.id}`);
  expect(await statusOf(page)).toEqual([404, 404]);
});

test('the page of a live event type has no word before the slug of the organization', async () => {
  const { liveKey } = await product.createTenant();
  const live = sceneOf(apiClient(product.process.api, liveKey));
  const eventType = await live.offer({ name: 'Live <i>call</i>', slug: 'live' }, { hours: ['09:00-12:00'] });
  const { pathname } = new URL(eventType.bookingUrl);
  expect(pathname).toMatch(/^\/book\/(?!test\/)[a-z0-9-]+\/live$/);
  const shown = await visit(`${pathname}?date=${day}`);
  expect(shown.status).toBe(200);
  expect(shown.text).toContain('Live &lt;i&gt;call&lt;/i&gt;');
});

test('whatever names a host, a visitor and an organization choose shows as text', async () => {
  const hostile = `"><script>alert(1)</script>`;
  const eventType = await offer({
    name: hostile,
    description: hostile,
    locations: [{ type: hostile.slice(0, 40), address: hostile }],
    questions: [
      { label: hostile, type: 'select', options: [hostile] },
      { label: `${hostile}2`, type: 'text' },
    ],
  });
  await scene.request('PATCH', `hosts/${eventType.host}`, { name: hostile });
  const { text, fields } = await formAt(eventType.page);
  const typed = { ...fields, name: hostile, email: hostile, phone: hostile, timezone: hostile };
  const pages = [
    await visit(`${eventType.page}?timezone=${encodeURIComponent(hostile)}&date=${encodeURIComponent(hostile)}`),
    { text },
    await visit(eventType.page, typed),
    await visit(eventType.page, { ...typed, website: hostile }),
    await visit(eventType.page, { ...fields, ...grace(), name: hostile }),
  ];
  for (const page of pages) {
    expect(page.text).not.toContain('<script');
    expect(page.text).toContain('&lt;script&gt;');
  }
  expect(await bookingsOf(eventType)).toHaveLength(1);
});
