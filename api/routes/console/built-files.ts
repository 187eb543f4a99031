import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { shareBody } from '../../connection/outgoing-answer.ts';

/** Where `npm run build` in `web/` writes. */
const folder = new URL('../../../web/dist/', import.meta.url);

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
};

type Body = Uint8Array<ArrayBuffer>;

/** A file in each form in which it may be sent. */
export interface BuiltFile {
  type: string;
  plain: Body;
  br?: Body;
  gzip?: Body;
}

const read = (name: string): Body => shareBody(new Uint8Array(readFileSync(new URL(name, folder))));

/** All files of the console by their names below `/app/`; empty while it has not been built. */
export function readBuiltFiles(): ReadonlyMap<string, BuiltFile> {
  let names: string[];
  try {
    names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw error;
  }
  const isBuilt = new Set(names);
  return new Map(
    names
      .filter((name) => types[extname(name)])
      .map((name) => [
        name,
        {
          type: types[extname(name)]!,
          plain: read(name),
          ...(isBuilt.has(`${name}.br`) && { br: read(`${name}.br`) }),
          ...(isBuilt.has(`${name}.gz`) && { gzip: read(`${name}.gz`) }),
        },
      ]),
  );
}
