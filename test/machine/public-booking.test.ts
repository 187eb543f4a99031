import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import axe from 'axe-core';
import { type Browser, chromium, type FrameLocator, type Page } from 'playwright-core';
import { sharedProduct } from '../product.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { chromiumArguments, chromiumPath } from './temporal-ui.ts';

// A browser takes its time on a busy machine.
jest.setTimeout(120_000);

const day = '2040-06-12';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let scene: ReturnType<typeof sceneOf>;
let browser: Browser;
beforeAll(async () => {
  product = await sharedProduct();
  scene = sceneOf(product.api);
  // A site elsewhere shows what this machine serves.
  const args = [
    ...chromiumArguments,
    '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests',
  ];
  browser = await chromium.launch({ executablePath: chromiumPath, args });
});
afterAll(async () => {
  await browser?.close();
  await product?.close();
});

async function offer(fields: object = {}) {
  const eventType = await scene.offer({ name: 'Intro call', ...fields }, { hours: ['09:00-12:00'] });
  return { ...eventType, url: new URL(new URL(eventType.bookingUrl).pathname, product.process.api).href as string };
}

const questions = [
  { label: 'Company', type: 'text', required: true },
  { label: 'Size', type: 'select', options: ['Small', 'Large'], required: true },
  { label: 'Send news', type: 'checkbox' },
];

/** Chooses a zone and a time, fills the form and books. */
async function bookOn(page: Page | FrameLocator): Promise<void> {
  await page.getByLabel('Time zone').selectOption('Asia/Tokyo');
  await page.getByRole('button', { name: 'Show times in this zone' }).click();
  await page.getByText('Choose a time (Asia/Tokyo).').waitFor();
  await page.getByRole('link', { name: /^.*12 Jun 2040, 18:00/ }).click();
  await page.getByLabel('Your name').fill('Grace Hopper');
  await page.getByLabel('Your e-mail address').fill('grace@example.com');
  await page.getByLabel('Company').fill('<b>Navy</b>');
  await page.getByLabel('Size').selectOption('Large');
  await page.getByLabel('Send news').check();
  await page.getByRole('button', { name: 'Book', exact: true }).click();
  await page.getByText('The booking is confirmed. A mail was sent to grace@example.com.').waitFor();
  await page.getByText(/12 Jun 2040, 18:00\s*–\s*19:00 \(Asia\/Tokyo\)/).waitFor();
}

const bookingsOf = async ({ id }: { id: string }) => (await scene.get(`bookings?eventTypeId=${id}`)).bookings;

test.each([
  ['with scripts on a wide screen', true, { width: 1280, height: 900 }],
  ['without scripts on a phone', false, { width: 390, height: 844 }],
])('a visitor %s chooses a time in a zone, answers the questions and books', async (_, javaScriptEnabled, viewport) => {
  const eventType = await offer({ questions });
  const context = await browser.newContext({ javaScriptEnabled, viewport });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  page.on('console', (message) => faults.push(message.text()));
  page.on('request', (request) => {
    if (!request.url().startsWith(product.process.api)) faults.push(request.url());
  });
  await page.goto(`${eventType.url}?date=${day}`);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Intro call');
  await bookOn(page);
  const box = (await page.locator('main').boundingBox())!;
  expect(box.x + box.width).toBeLessThanOrEqual(viewport.width);
  const [booking, ...others] = await bookingsOf(eventType);
  expect(others).toEqual([]);
  expect(booking).toMatchObject({
    start: '2040-06-12T09:00:00.000Z',
    attendee: { name: 'Grace Hopper', email: 'grace@example.com', timezone: 'Asia/Tokyo' },
  });
  // The same form again, as after a way back, is the same booking.
  await page.goto(`${eventType.url}?date=${day}`);
  expect(await page.getByRole('link', { name: /12 Jun 2040, 09:00/ }).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

test('what is missing is said beside its field, and what was typed stays', async () => {
  const eventType = await offer({ questions });
  // The browser's own checks would keep the form from being sent.
  const context = await browser.newContext({ bypassCSP: true });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(`${eventType.url}?start=${day}T09:00:00Z`);
  await page.locator('form[method=post]').evaluate((form) => form.setAttribute('novalidate', ''));
  await page.getByLabel('Your name').fill('Grace Hopper');
  await page.getByRole('button', { name: 'Book', exact: true }).click();
  await page.getByRole('alert').waitFor();
  expect(await page.getByLabel('Company').getAttribute('aria-invalid')).toBe('true');
  expect(await page.getByLabel('Your name').inputValue()).toBe('Grace Hopper');
  expect(await bookingsOf(eventType)).toEqual([]);
  await context.close();
});

test('a site that the event type names shows the page in a frame, and another does not', async () => {
  const [shop, other] = ['https://shop.example.com', 'https://other.example.com'];
  const eventType = await offer({ questions, embedOrigins: [shop] });
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 800, height: 1000 } });
  for (const site of [shop, other]) {
    const body = `<!doctype html><title>Site</title><iframe title="Book" src="${eventType.url}?date=${day}" width="600" height="900"></iframe>`;
    await context.route(`${site}/`, (route) => route.fulfill({ contentType: 'text/html', body }));
  }
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(`${shop}/`);
  await bookOn(page.frameLocator('iframe'));
  expect(await bookingsOf(eventType)).toHaveLength(1);

  const answered = page.waitForResponse((response) => response.url().startsWith(eventType.url));
  await page.goto(`${other}/`);
  expect((await answered).headers()['content-security-policy']).toContain(`frame-ancestors ${shop}`);
  expect(await page.frameLocator('iframe').getByRole('heading', { name: 'Intro call' }).count()).toBe(0);
  await context.close();
});

test.each([390, 1280])(
  'at %i pixels nothing is wider than the page, and nothing stops assistive technology',
  async (width) => {
    const eventType = await offer({
      questions,
      description: 'x'.repeat(300),
      locations: [{ type: 'office', address: 'Here 1' }],
    });
    // What looks at the page is a script, which its policy would not run.
    const context = await browser.newContext({ bypassCSP: true, viewport: { width, height: 844 } });
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    for (const query of [`?date=${day}`, `?start=${day}T09:00:00Z`, '?date=2001-01-01']) {
      await page.goto(eventType.url + query);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      await page.evaluate(axe.source);
      const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults;
      expect([query, violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])]).toEqual([query, []]);
    }
    await context.close();
  },
);
