import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import axe from 'axe-core';
import { type Browser, chromium } from 'playwright-core';
import { sharedProduct } from '../product.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { chromiumArguments, chromiumPath } from './temporal-ui.ts';

// A browser takes its time on a busy machine.
jest.setTimeout(120_000);

let product: Awaited<ReturnType<typeof sharedProduct>>;
let browser: Browser;
beforeAll(async () => {
  product = await sharedProduct();
  browser = await chromium.launch({ executablePath: chromiumPath, args: chromiumArguments });
});
afterAll(async () => {
  await browser.close();
  await product.close();
});

/** The page of a new booking, on this machine. */
async function newPage(fields: object = {}): Promise<{ url: string; bookingId: string }> {
  const scene = sceneOf(product.api);
  const eventType = await scene.offer({ name: 'Intro call', ...fields }, { hours: ['09:00-12:00'] });
  const attendee = { ...scene.attendee, timezone: 'Europe/Berlin' };
  const { body } = await scene.book(eventType.id, '2040-06-12T09:00:00Z', { attendee });
  const { pathname } = new URL(body.data.confirmationUrl);
  return { url: new URL(pathname, product.process.api).href, bookingId: body.data.id };
}

test('on a phone and without scripts an attendee moves a booking with the keyboard, and cancels it', async () => {
  const { url, bookingId } = await newPage();
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 360, height: 640 } });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(product.process.api)) elsewhere.push(request.url());
  });
  const refused: string[] = [];
  page.on('console', (message) => refused.push(message.text()));

  await page.goto(url);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Your booking');
  await page.getByRole('link', { name: 'Choose another time' }).click();
  for (const part of ['main', 'fieldset', 'select', 'textarea']) {
    const box = (await page.locator(part).first().boundingBox())!;
    expect(box.x + box.width).toBeLessThanOrEqual(360);
  }
  const group = page.getByRole('group', { name: 'Choose a new time' });
  await group
    .getByRole('group', { name: '13 Jun 2040' })
    .getByRole('radio', { name: /^12:00/ })
    .focus();
  await page.keyboard.press('Space');
  await page.getByLabel('Reason (optional)').fill('Traffic.');
  await page.getByRole('button', { name: 'Move the booking' }).press('Enter');
  await page.getByText(/13 Jun 2040, 12:00/).waitFor();
  const scene = sceneOf(product.api);
  expect(await scene.get(`bookings/${bookingId}`)).toMatchObject({
    start: '2040-06-13T10:00:00.000Z',
    rescheduleReason: 'Traffic.',
  });

  await page.getByRole('link', { name: 'Cancel the booking' }).click();
  await page.getByRole('button', { name: 'Cancel the booking' }).click();
  await page.getByRole('heading', { name: 'Cancelled' }).waitFor();
  expect((await scene.get(`bookings/${bookingId}`)).status).toBe('cancelled');
  expect([elsewhere, refused]).toEqual([[], []]);
  await context.close();
});

test('a long meeting link makes no page wider than a phone', async () => {
  const meeting = `https://meet.example.com/${'x'.repeat(300)}`;
  const { url } = await newPage({ name: 'N'.repeat(100), locations: [{ type: 'video', url: meeting }] });
  const context = await browser.newContext({ bypassCSP: true, viewport: { width: 360, height: 640 } });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  for (const path of ['', '/reschedule', '/cancel']) {
    await page.goto(url + path);
    await page.getByRole('link', { name: meeting }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
  }
  await page.goto(url);
  await page.getByLabel('Time zone').selectOption('Asia/Tokyo');
  await page.getByRole('button', { name: 'Show times in this zone' }).click();
  await page.getByText(/18:00\s*–\s*19:00 \(Asia\/Tokyo\)/).waitFor();
  await context.close();
});

test('no page has anything that assistive technology stumbles over', async () => {
  const { url } = await newPage();
  // What looks at the page is a script, which its policy would not run.
  const context = await browser.newContext({ bypassCSP: true, colorScheme: 'light' });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const look = async () => {
    await page.evaluate(axe.source);
    const { violations, passes } = (await page.evaluate('axe.run()')) as axe.AxeResults;
    expect(passes.length).toBeGreaterThan(10);
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  };
  for (const path of ['', '/reschedule', '/reschedule?date=2040-06-19', '/cancel']) {
    await page.goto(url + path);
    await look();
  }
  await page.getByRole('button', { name: 'Cancel the booking' }).click();
  await page.getByRole('heading', { name: 'Cancelled' }).waitFor();
  for (const path of ['', '/reschedule', '/cancel']) {
    await page.goto(url + path);
    await look();
  }
  await page.goto(new URL('/b/nonsense', url).href);
  await look();
  await context.close();
});
