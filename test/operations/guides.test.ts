import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sharedProduct } from '../product.ts';

const root = new URL('../../', import.meta.url);
const names = readdirSync(new URL('docs/', root))
  .filter((file) => file.endsWith('.md'))
  .map((file) => file.replace(/\.md$/, ''));
const sourceOf = (name: string) => readFileSync(new URL(`docs/${name}.md`, root), 'utf8');
const readme = readFileSync(new URL('README.md', root), 'utf8');

interface Page {
  html: string;
  headers: Headers;
  links: string[];
  anchors: string[];
}

const valuesOf = (html: string, attribute: string) =>
  [...html.matchAll(new RegExp(`<[a-z0-9]+\\b[^>]* ${attribute}="([^"]*)"`, 'g'))].map(([, value]) => value!);

let base: string;
let close: () => Promise<void>;
const pages = new Map<string, Page>();
beforeAll(async () => {
  const product = await sharedProduct();
  base = product.process.api;
  close = product.close;
  for (const path of ['/docs/guides', ...names.map((name) => `/docs/guides/${name}`)]) {
    const answer = await fetch(base + path);
    expect({ path, status: answer.status }).toEqual({ path, status: 200 });
    const html = await answer.text();
    const main = /<main>([\s\S]*)<\/main>/.exec(html)![1]!;
    pages.set(path, { html, headers: answer.headers, links: valuesOf(main, 'href'), anchors: valuesOf(main, 'id') });
  }
});
afterAll(() => close());

test('the README is short, and its table has every guide', () => {
  expect(readme.split('\n').length).toBeLessThanOrEqual(250);
  const listed = [...readme.matchAll(/^\| \[[^\]]+\]\(docs\/([\w-]+)\.md\) \| .+ \|$/gm)].map(([, name]) => name!);
  expect(listed.toSorted()).toEqual(names.toSorted());
});

test('the index links every guide', () => {
  const { html, links } = pages.get('/docs/guides')!;
  expect(html).toContain('<h1>Guides</h1>');
  expect(links.toSorted()).toEqual(names.map((name) => `/docs/guides/${name}`).toSorted());
});

describe.each(names)('the guide %s', (name) => {
  const page = () => pages.get(`/docs/guides/${name}`)!;

  test('has the title, the headings and the code of its file', () => {
    const source = sourceOf(name);
    const { html, anchors } = page();
    expect(html).toContain(`<h1>${/^# (.*)\n/.exec(source)![1]}</h1>`);
    expect(anchors).toHaveLength([...source.matchAll(/^##+ /gm)].length);
    expect(new Set(anchors).size).toBe(anchors.length);
    const command = /^ {4}(curl|npm|docker) .*$/m.exec(source)?.[0].trim();
    if (command) expect(html.replaceAll('&lt;', '<').replaceAll('&amp;', '&')).toContain(command);
  });

  test('links only what there is, as a page and as a file', async () => {
    for (const link of page().links.filter((one) => !one.startsWith('https://'))) {
      const [path, anchor] = link.split('#') as [string, string?];
      const target = path === '' ? page() : pages.get(path);
      expect({ link, isServed: target !== undefined }).toEqual({ link, isServed: true });
      if (anchor !== undefined) expect(target!.anchors).toContain(anchor);
    }
    for (const [, link] of sourceOf(name).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
      expect({ link, exists: existsSync(new URL(link!, new URL('docs/', root))) }).toEqual({ link, exists: true });
    }
  });

  test('loads its style and its images, which its policy allows, and nothing else', async () => {
    const { html, headers } = page();
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = headers.get('content-security-policy')!;
    const style = createHash('sha256')
      .update(/<style>([\s\S]*)<\/style>/.exec(html)![1]!)
      .digest('base64');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`style-src 'sha256-${style}'`);
    expect(html).not.toMatch(/<script| style=| on\w+="/);
    for (const image of valuesOf(html, 'src')) {
      expect(image).toMatch(/^\/docs\/guides\/images\/[\w-]+\.png$/);
      const answer = await fetch(base + image);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
      const file = readFileSync(new URL(image.replace('/docs/guides/', 'docs/'), root));
      expect(Buffer.from(await answer.arrayBuffer()).equals(file)).toBe(true);
    }
  });
});

test('a guide is answered compressed, and with 304 to a client that has it', async () => {
  const first = await fetch(`${base}/docs/guides/webhooks`);
  expect(first.headers.get('content-encoding')).toBe('gzip');
  const again = await fetch(`${base}/docs/guides/webhooks`, {
    headers: { 'if-none-match': first.headers.get('etag')! },
  });
  expect([again.status, await again.text()]).toEqual([304, '']);
});

test('other names are unknown', async () => {
  for (const path of [
    'nothing',
    'README',
    'webhooks.md',
    '..%2F..%2Fpackage.json',
    'images/nothing.png',
    'images/..%2Fapi.md',
  ]) {
    const answer = await fetch(`${base}/docs/guides/${path}`);
    expect({ path, status: answer.status }).toEqual({ path, status: 404 });
    expect(await answer.json()).toMatchObject({ success: false, error: { code: 'not_found' } });
  }
  expect((await fetch(`${base}/docs/guides/webhooks`, { method: 'POST' })).status).toBe(405);
});

test('the image of the product contains what the guides are made of', () => {
  const ignored = readFileSync(new URL('.dockerignore', root), 'utf8').split('\n');
  for (const name of ['docs', 'docs/', 'docs/*', 'docs/*.md', 'docs/images', '*.md', '**/*.md', 'README.md']) {
    expect(ignored).not.toContain(name);
  }
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  expect(dependencies.marked).toMatch(/^\d+\.\d+\.\d+$/);
});
