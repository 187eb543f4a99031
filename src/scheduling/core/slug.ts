import slugify from '@sindresorhus/slugify';
import { withoutEnd } from '../../platform/core/without-end.ts';

const maxSlugLength = 100;
const nameless = 'event';

export const isSlug = (text: string): boolean => /^[a-z0-9-]{1,100}$/.test(text);

/** A name as a slug: transliterated to Latin letters, digits and hyphens; `event` if no character remains. */
export function slugOf(name: string): string {
  const slug = slugify(name, { decamelize: false }).replace(/[^a-z0-9-]/g, '');
  return withoutEnd(slug.slice(0, maxSlugLength), '-') || nameless;
}

/** The slug, or with -2, -3, … the first unused one. */
export function freeSlug(slug: string, taken: ReadonlySet<string>): string {
  if (!taken.has(slug)) return slug;
  for (let number = 2; ; number++) {
    const end = `-${number}`;
    const numbered = slug.slice(0, maxSlugLength - end.length) + end;
    if (!taken.has(numbered)) return numbered;
  }
}
