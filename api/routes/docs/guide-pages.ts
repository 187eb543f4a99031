import { readdirSync, readFileSync } from 'node:fs';
import { basename, posix } from 'node:path';
import { html, raw } from 'hono/html';
import { Marked, type Token, type Tokens, type TokensList } from 'marked';
import { pageOf } from '../../pages/html-page.ts';

const root = new URL('../../../', import.meta.url);
const folder = 'docs';
/** Its section "Guides" is the index. */
const readme = 'README.md';
const indexPath = '/docs/guides';

/** The names of the guides, each a Markdown file in `docs/`. */
export const guideNames: ReadonlySet<string> = new Set(
  readdirSync(new URL(`${folder}/`, root))
    .filter((file) => file.endsWith('.md'))
    .map((file) => basename(file, '.md')),
);

/** The anchor that Git hosts give to a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/**
 * The address at which the API serves the target of a document's link.
 * @param document the path of the document in the repository, to which the link is relative
 * @returns undefined for a file that the API does not serve
 */
function servedAddress(document: string, link: string): string | undefined {
  if (/^(?:https?:|#)/.test(link)) return link;
  const [file = '', anchor] = posix.join(posix.dirname(document), link).split('#');
  const { dir, name, ext } = posix.parse(file);
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  if (file === readme) return indexPath + suffix;
  if (dir === folder && ext === '.md' && guideNames.has(name)) return `${indexPath}/${name}${suffix}`;
  return dir === `${folder}/images` ? `${indexPath}/images/${name}${ext}` : undefined;
}

const escapeMarkup = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** Guides contain no markup of their own: what looks like it is text. */
const marked = new Marked({
  renderer: {
    html: ({ text }) => escapeMarkup(text),
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      return href === '' ? text : `<a href="${escapeMarkup(href)}">${text}</a>`;
    },
    // Wide code and tables scroll, also with the keyboard.
    code: ({ text }) => `<pre tabindex="0"><code>${escapeMarkup(text)}</code></pre>\n`,
    table({ header, rows }) {
      const line = (cells: Tokens.TableCell[]) => `<tr>${cells.map((cell) => this.tablecell(cell)).join('')}</tr>\n`;
      const body = rows.map(line).join('');
      return `<div class="wide" tabindex="0"><table><thead>${line(header)}</thead><tbody>${body}</tbody></table></div>\n`;
    },
  },
});

function pageFrom(document: string, title: string, tokens: Token[] | TokensList): string {
  marked.walkTokens(tokens, (token) => {
    if (token.type === 'link' || token.type === 'image') token.href = servedAddress(document, token.href) ?? '';
  });
  const content = html`${raw(marked.parser(tokens))}`;
  return String(pageOf(title, content, { icon: '/favicon.svg', isGuide: true }));
}

const readDocument = (document: string) => readFileSync(new URL(document, root), 'utf8');

/** The page of a guide. @param name one of `guideNames` */
export function guidePage(name: string): string {
  const document = `${folder}/${name}.md`;
  const [title, ...rest] = marked.lexer(readDocument(document));
  if (title?.type !== 'heading' || title.depth !== 1) throw new Error(`${document} does not begin with a title.`);
  return pageFrom(document, title.text, rest);
}

/** The page that lists the guides. */
export function guideIndex(): string {
  const tokens = marked.lexer(readDocument(readme));
  const start = tokens.findIndex((token) => token.type === 'heading' && token.text === 'Guides');
  if (start < 0) throw new Error(`${readme} has no section "Guides".`);
  return pageFrom(readme, 'Guides', tokens.slice(start + 1));
}

/** The names of the images in guides. */
export const imageNames: ReadonlySet<string> = new Set(readdirSync(new URL(`${folder}/images/`, root)));

/** @param name one of `imageNames` */
export const readImage = (name: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(readFileSync(new URL(`${folder}/images/${name}`, root)));
