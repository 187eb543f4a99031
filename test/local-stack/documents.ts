import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { root } from './stack-folder.ts';

const isPage = (name: string) => name.endsWith('.md');

/** The pages for people who use or operate the product, with their text. */
export const documents: ReadonlyMap<string, string> = new Map(
  [
    'README.md',
    ...readdirSync(join(root, 'docs'))
      .filter(isPage)
      .map((name) => `docs/${name}`),
  ].map((path) => [path, readFileSync(join(root, path), 'utf8')]),
);

/** A command, or something else that a page names, without what the page says beside it. */
export interface DocumentedCommand {
  document: string;
  command: string;
}

/** What a command begins with. Variables may stand before it. */
const beginning =
  /^(?:[A-Z_]+=(?:\$\([^)]*\)|\S+) +)*(?:(?:npm|npx|node|node_modules\/\S+|curl|docker|kubectl|git|umask|cat|temporal|gunzip|sh|systemctl) |export [A-Z]+=)/;

/** Lines that are indented by four or more, after an empty line. Without their indentation. */
const codeBlocks = (text: string): string[] =>
  [...text.matchAll(/(?<=\n\n)(?: {4,}\S.*\n)+/g)].map(([block]) => {
    const lines = block.trimEnd().split('\n');
    const indentation = Math.min(...lines.map((line) => line.search(/\S/)));
    return lines.map((line) => line.slice(indentation)).join('\n');
  });

/** One string for each command of a block: lines that end with a backslash go on, and a here-document is part of one. */
const commandsOf = (block: string): string[] =>
  [...block.matchAll(/^.*<<(\w+)\n[\s\S]*?^\1$|^(?:.*\\\n)*.*$/gm)].map(([command]) => command).filter(Boolean);

/** The TypeScript of each page that shows the client, as one module: its blocks in their order. */
export const documentedPrograms: readonly { document: string; program: string }[] = [...documents]
  .filter(([, text]) => text.includes("from 'atelier-client'"))
  .map(([document, text]) => ({
    document,
    program: codeBlocks(text)
      .filter((block) => /^(?:import \{|const |for await|try \{|if \(|\/\*\* )/.test(block))
      .join('\n'),
  }));

/** What stands beside a command of one line: two spaces and words. */
const withoutRemark = (command: string) => command.replace(/ {2,}(?:# )?[a-z].*$/, '');

/** Every command in a code block. */
export const documentedCommands: readonly DocumentedCommand[] = [...documents].flatMap(([document, text]) =>
  codeBlocks(text)
    .map(commandsOf)
    .filter((commands) => commands.some((command) => beginning.test(command)))
    .flatMap((commands) =>
      commands.map((command) => ({ document, command: command.includes('\n') ? command : withoutRemark(command) })),
    ),
);

/** Every command in a sentence or a table, between backticks. */
export const mentionedCommands: readonly DocumentedCommand[] = [...documents].flatMap(([document, text]) =>
  [...text.matchAll(/`([^`\n]+)`/g)]
    .map(([, command]) => ({ document, command: command! }))
    .filter(({ command }) => beginning.test(command)),
);

const moduleIn = (document: string, pattern: RegExp): string =>
  pattern.exec(documents.get(document)!)![0].replaceAll(/^ {4}/gm, '');

/** The example of a receiver in the guide to webhooks, as a module. */
export const receiverExample = moduleIn('docs/webhooks.md', /^ {4}import \{ createHmac[\s\S]*?^ {4}\}$/m);

/** The same for signatures with a private key. */
export const publicKeyExample = moduleIn('docs/webhooks.md', /^ {4}import \{ createPublicKey[\s\S]*?^ {4}\}$/m);

const methods = '(?:GET|POST|PUT|PATCH|DELETE)';
const request = new RegExp(`^(${methods}(?:, ${methods})*)(?: (/\\S*))?`);

/** Every request that a page names, as `GET /api/v1/runs/{}`. A table may say below which path its requests are. */
export const mentionedRequests: readonly DocumentedCommand[] = [...documents].flatMap(([document, text]) => {
  let base: string | undefined;
  return text.split('\n').flatMap((line) => {
    if (line === '') base = undefined;
    base = /^\| request, below `([^`]+)`/.exec(line)?.[1] ?? base;
    const place = base === undefined ? line : line.split('|')[1]!;
    return [...place.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => {
      const [, verbs, path = ''] = request.exec(code!) ?? [];
      if (!verbs || (path === '' && base === undefined)) return [];
      const whole = `${base ?? ''}${path}`.replace(/\?.*$/, '').replace(/^\/v1\//, '/api/v1/');
      return verbs.split(', ').map((verb) => ({ document, command: `${verb} ${whole.replaceAll(/\{\w+\}/g, '{}')}` }));
    });
  });
});

/** Every environment variable that a page names. */
export const mentionedVariables: readonly string[] = [
  ...new Set(
    [...documents.values()].flatMap((text) =>
      [...text.matchAll(/`([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)(?:=[^`\n]*)?`/g)].map(([, name]) => name!),
    ),
  ),
];

/** Every file that a page names between backticks or links to. */
export const mentionedFiles: readonly DocumentedCommand[] = [...documents].flatMap(([document, text]) =>
  [...text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.\w+)`|\]\(([^)#:]+)\)/g)].map(([, named, linked]) => ({
    document,
    command: named ?? posix.join(posix.dirname(document), linked!),
  })),
);
