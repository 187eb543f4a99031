import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Catalog, catalogOf } from './catalog.ts';
import type { OperatorDeclarations } from './part.ts';

const files = globSync('*/declarations.ts', { cwd: fileURLToPath(new URL('../..', import.meta.url)) }).toSorted();
const modules: Record<string, OperatorDeclarations>[] = await Promise.all(files.map((file) => import(`../../${file}`)));

/**
 * The declarations of the parts for operators' commands and for the keys of organizations. Loading the parts themselves
 * takes a process a second, so each has these in its `declarations.ts`, which is found by its name.
 */
export const declared: Catalog = catalogOf(modules.flatMap((module) => Object.values(module)));
