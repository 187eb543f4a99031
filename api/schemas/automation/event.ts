import { z } from '@hono/zod-openapi';
import {
  eventNameForm,
  eventNamePattern,
  maxEventDataBytes,
  maxEventNameLength,
} from '../../../src/automation/core/event-names.ts';
import { maxSourceLength } from '../../../src/automation/core/expression.ts';
import type { Trigger } from '../../../src/automation/events/triggers.ts';
import { freeForm, texts } from '../free-form.ts';
import { lineText, text } from '../text.ts';

const alike = <Value>(value: Value) => ({ A: value, B: value });

const eventName = z
  .string()
  .max(maxEventNameLength)
  .regex(
    eventNamePattern,
    'Expected up to five words of small letters, digits and underscores with points between them.',
  )
  .openapi({
    pattern: eventNameForm.source,
    maxLength: maxEventNameLength,
    description: 'The name of the event. Names that begin with `atelier.` are not available.',
  });

export const newEventSchema = z
  .object({
    name: eventName.openapi({
      description:
        'The name of the event. Names that the platform publishes are refused: the types of the event catalogue, names below `workflow.`, `approval.`, `batch.`, `studio.`, `booking.` or `api_key.`, and names below the id of an integration.',
    }),
    data: freeForm
      .refine(
        (data) => Buffer.byteLength(JSON.stringify(data)) <= maxEventDataBytes,
        'Expected at most 256 KiB as JSON.',
      )
      .optional()
      .openapi({ description: 'At most 256 KiB as JSON. Default: `{}`.' }),
    id: lineText(255)
      .refine((id) => id !== '', 'Expected at least one character.')
      .optional()
      .openapi({
        type: 'string',
        minLength: 1,
        maxLength: 255,
        description:
          'Identifies the event for 24 hours. An event with the same id gets the first answer and has no further effect; with other content it is refused. Default: a generated id.',
      }),
  })
  .openapi('NewEvent');

export const receivedEventSchema = z
  .object({
    id: z.string(),
    resumed: z.int().openapi({ description: 'Steps that waited for the event and continue.' }),
    started: z.int().openapi({ description: 'Runs that the event starts, including those that start later.' }),
    complete: z.boolean().openapi({
      description:
        'False while more than a thousand steps and triggers wait for events of this name: the first thousand are counted, and the rest is decided soon.',
    }),
  })
  .openapi('ReceivedEvent');

export const newEventExamples = alike({
  name: 'order.paid',
  data: { orderId: 'ord_1207', total: 49.5 },
  id: 'ord_1207-paid',
});
export const receivedEventExamples = alike({ id: 'ord_1207-paid', resumed: 1, started: 1, complete: true });

const maxInputs = 100;

const newTrigger = z
  .object({
    event: eventName.openapi({
      description: 'The name of the events: one that callers send, or a type of the event catalogue.',
    }),
    filter: text(maxSourceLength)
      .nullish()
      .openapi({
        type: ['string', 'null'],
        description: 'A CEL expression over `event` that must be true. Without it every event of the name fires.',
      }),
    inputs: texts
      .refine((inputs) => Object.keys(inputs).length <= maxInputs, `Expected at most ${maxInputs} inputs.`)
      .nullish()
      .openapi({
        type: ['object', 'null'],
        additionalProperties: { type: 'string' },
        maxProperties: maxInputs,
        description:
          'The variables of the run: CEL expressions over `event` by name. Their values have at most 256 KiB together as JSON.',
      }),
  })
  .openapi('NewTrigger');

export const triggersSchema = z.object({ triggers: z.array(newTrigger).max(10) }).openapi('NewTriggers');

export const shownTriggersSchema = z
  .object({
    triggers: z.array(
      z.object({
        event: z.string(),
        filter: z.string().nullable(),
        inputs: z.record(z.string(), z.string()).nullable(),
        lastFiredAt: z.iso.datetime().nullable().openapi({ description: 'When it last started a run.' }),
        lastSkipped: z
          .object({
            at: z.iso.datetime(),
            reason: z.string().openapi({ description: 'A code, such as expression_error, loop or workflow_inactive.' }),
          })
          .nullable()
          .openapi({ description: 'The last event that started no run although its filter did not refuse it.' }),
      }),
    ),
  })
  .openapi('Triggers');

export const shownTriggers = (triggers: readonly Trigger[]): z.input<typeof shownTriggersSchema> => ({
  triggers: triggers.map(({ lastFiredAt, lastSkipped, ...trigger }) => ({
    ...trigger,
    lastFiredAt: lastFiredAt?.toISOString() ?? null,
    lastSkipped: lastSkipped && { at: lastSkipped.at.toISOString(), reason: lastSkipped.reason },
  })),
});

const trigger = { event: 'order.paid', filter: 'event.data.total > 20.0', inputs: { order: 'event.data.orderId' } };
export const newTriggersExamples = alike({ triggers: [trigger] });
export const triggersExamples = alike({
  triggers: [
    {
      event: trigger.event,
      filter: trigger.filter,
      inputs: trigger.inputs,
      lastFiredAt: '2026-11-23T09:30:00.000Z',
      lastSkipped: null,
    },
  ],
});
