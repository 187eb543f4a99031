import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';

const style = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 38rem; margin: 0 auto; padding: 1rem; color: #1a1a1a; background: #fff; }
dt { font-weight: 600; margin-top: .5rem; }
dd { margin: 0; }
body { overflow-wrap: anywhere; }
select { font: inherit; max-width: 100%; padding: .35rem 0; }
fieldset { min-width: 0; }
a { color: #0645ad; }
fieldset { border: 1px solid #767676; margin: 1rem 0; }
label { display: block; padding: .35rem 0; }
textarea { width: 100%; box-sizing: border-box; font: inherit; }
.field { width: 100%; box-sizing: border-box; font: inherit; padding: .35rem; }
.times { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .5rem; }
.times a { display: block; padding: .5rem .75rem; border: 1px solid #767676; }
.said { white-space: pre-line; }
.wrong { margin: 0; color: #b00020; }
button { font: inherit; padding: .5rem 1rem; }
.guide { max-width: 60rem; }
.guide main { overflow-wrap: break-word; }
pre, .wide { overflow-x: auto; }
pre { padding: .75rem; background: #f4f4f4; }
table { border-collapse: collapse; }
th, td { border: 1px solid #c8c8c8; padding: .25rem .5rem; text-align: left; vertical-align: top; }
img { max-width: 100%; height: auto; }
.problem { border-left: .3rem solid #b00020; padding: .5rem 1rem; }
`;

/**
 * Allows only this style, no loaded resources, and forms to this origin. @param ancestors the origins that may embed
 * the page
 */
const policyOf = (ancestors: string, ...more: string[]) =>
  [
    "default-src 'none'",
    ...more,
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${ancestors}`,
  ].join('; ');

export const pagePolicy = policyOf("'none'");

/** The same for a page with scripts of this origin, which call only this origin. */
export const scriptedPolicy = policyOf("'none'", "script-src 'self'", "connect-src 'self'");

/** The same of a page that pages of these origins may show in a frame. */
export const framedPolicy = (origins: readonly string[]) => policyOf(origins.join(' '));

const guideLinks = html`
    <nav><a href="/">Atelier</a> · <a href="/docs/guides">Guides</a> · <a href="/docs">API reference</a></nav>`;

export type Html = ReturnType<typeof html>;

/**
 * A whole page.
 * @param content is markup; texts in it were escaped when they were put in
 * @param more the path of an icon, which the policy of the page must allow; whether the page is a guide, which is wider
 *   and links to the others
 */
export const pageOf = (
  title: string,
  content: Html,
  { icon, isGuide = false }: { icon?: string; isGuide?: boolean } = {},
) => html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${title}</title>${
      icon &&
      html`
    <link rel="icon" href="${icon}" type="image/svg+xml">`
    }
    <style>${raw(style)}</style>
  </head>
  <body${raw(isGuide ? ' class="guide"' : '')}>${isGuide ? guideLinks : ''}
    <main>
      <h1>${title}</h1>
      ${content}
    </main>
  </body>
</html>`;

/** What went wrong, for the page's reader. */
export const problem = (text: string) => html`<p class="problem" role="alert">${text}</p>`;

/** Parts of a page, one after the other. */
export const joined = (...parts: Html[]): Html => html`${parts}`;
