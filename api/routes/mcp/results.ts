import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import type { AppError, FieldError } from '../../../src/platform/errors.ts';
import { maxAnswerBytes } from '../../fit-answer.ts';
import { errorData } from './envelope.ts';

/** The author of an item: text of a model or of an outside sender is not an instruction. */
export interface Origin {
  isUntrusted?: boolean;
}

const metaOf = ({ isUntrusted = false }: Origin) => (isUntrusted ? { _meta: { 'atelier/untrusted': true } } : {});

export const textItem = (text: string, origin: Origin = {}): ContentBlock => ({
  type: 'text',
  text,
  ...metaOf(origin),
});

export interface Link {
  uri: string;
  name: string;
  mimeType?: string | undefined;
}

export const linkItem = ({ mimeType, ...link }: Link, origin: Origin = {}): ContentBlock => ({
  type: 'resource_link',
  ...link,
  ...(mimeType !== undefined && { mimeType }),
  ...metaOf(origin),
});

/** Bytes of JSON in a result: it is there for programs, and as a text, in which each of its characters may take two. */
export const maxResultBytes = Math.floor(maxAnswerBytes / 3) - 16 * 1024;

/** JSON of at most `maxResultBytes`, for programs and as a text. */
export const jsonResult = (value: object, origin: Origin = {}): CallToolResult => ({
  content: [textItem(JSON.stringify(value), origin)],
  structuredContent: value as Record<string, unknown>,
});

/** A failure with its code, and the paths of the problems in the arguments. */
export function failedResult(error: Pick<AppError, 'code' | 'message' | 'facts' | 'retryAfter'>): CallToolResult {
  const { code, message, facts } = error;
  const errors = (facts?.errors ?? []) as FieldError[];
  const lines = errors.map(({ path, message: problem }) => (path === '' ? problem : `${path}: ${problem}`));
  return {
    isError: true,
    content: [textItem([`${code}: ${message}`, ...lines].join('\n'))],
    structuredContent: { message, ...errorData(error) },
  };
}
