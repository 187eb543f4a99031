import { createMiddleware } from 'hono/factory';
import { isJsonObject } from '../../../src/platform/core/json-shapes.ts';
import { AppError } from '../../../src/platform/errors.ts';
import type { ApiEnv } from '../../context.ts';

const isBlank = (value: unknown) =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
const isNoList = (value: unknown) => !Array.isArray(value) || value.length === 0;

/** Required fields, in the order of their errors, with the published sentence for each. */
const required = {
  messages: { isMissing: isNoList, sentence: 'Messages are required' },
  message: { isMissing: isBlank, sentence: 'Message is required' },
  systemPrompt: { isMissing: isBlank, sentence: 'System prompt is required' },
} as const;

/** Refuses a body without these fields with the published sentences, before its schema finds other words for it. */
export const requireFields = (...fields: (keyof typeof required)[]) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    const body = c.get('body');
    if (isJsonObject(body)) {
      for (const field of fields) {
        const { isMissing, sentence } = required[field];
        if (isMissing(body[field])) throw new AppError('validation_error', sentence);
      }
    }
    await next();
  });
