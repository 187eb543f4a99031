import { z } from '@hono/zod-openapi';
import { findBlackoutProblems } from '../../../src/scheduling/core/blackouts.ts';
import { prefixedIdInPath } from '../ids.ts';
import { nameText, text } from '../text.ts';
import { alike, blackoutId, exampleTime, hostOfSetting } from './values.ts';

export const blackoutInPath = prefixedIdInPath('id', blackoutId);

const moment = z
  .string()
  .max(40)
  .openapi({ description: 'A date, or with `allDay: false` an instant in whole minutes.' });

export const newBlackoutSchema = z
  .object({
    name: nameText,
    start: moment,
    end: moment,
    allDay: z.boolean().optional().openapi({ description: 'Default true: whole days of each host, the last one too.' }),
    recurring: z.boolean().optional().openapi({ description: 'Default false. True: every year from its own on.' }),
    reason: text(500)
      .nullable()
      .optional()
      .openapi({ type: ['string', 'null'] }),
    hostId: hostOfSetting,
  })
  .superRefine(({ start, end, allDay = true }, context) => {
    for (const { path, message } of findBlackoutProblems({ start, end, allDay })) {
      context.addIssue({ code: 'custom', path: [path], message });
    }
  })
  .openapi('NewBlackoutPeriod', {
    description: 'The end is not before the start, and at most 366 days after it.',
  });

export const blackoutSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    start: z.string(),
    end: z.string(),
    allDay: z.boolean(),
    recurring: z.boolean(),
    reason: z.string().nullable(),
    hostId: z.string().nullable().openapi({ description: 'Null: all hosts.' }),
    createdAt: z.iso.datetime(),
  })
  .openapi('BlackoutPeriod');
export const blackoutListSchema = z.object({ blackoutPeriods: z.array(blackoutSchema) });

const given = { name: 'Company holiday', start: '2030-12-24', end: '2031-01-01', recurring: true };
const hours = { name: 'Fire drill', start: '2030-05-02T09:00:00Z', end: '2030-05-02T10:00:00Z', allDay: false };
export const newBlackoutExamples = { A: given, B: hours };
const shown = { id: blackoutId, ...given, allDay: true, reason: null, hostId: null, createdAt: exampleTime };
export const blackoutExamples = alike(shown);
export const blackoutListExamples = alike({ blackoutPeriods: [shown] });
