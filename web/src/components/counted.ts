import type { Page } from '../../../sdk/typescript/src/index.ts';

/** A number with its noun: `1 credit`, `1,200 credits`. */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString()} ${noun}${count === 1 ? '' : 's'}`;

/** How many entries a list has. The service counts the largest lists up to a limit. */
export const totalText = ({ total, totalIsExact }: Pick<Page<unknown>, 'total' | 'totalIsExact'>): string =>
  `${totalIsExact ? '' : 'more than '}${total.toLocaleString()}`;
