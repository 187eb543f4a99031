import { z } from '@hono/zod-openapi';
import { defaultReminders, maxReminders } from '../../../src/scheduling/core/effects.ts';
import { questionTypes } from '../../../src/scheduling/entities.ts';
import { maxEventTypes } from '../../../src/scheduling/event-types.ts';
import { prefixedIdInPath } from '../ids.ts';
import { filledLine, filledText, text } from '../text.ts';
import { alike, eventTypeId, exampleTime } from './values.ts';

export const eventTypeInPath = prefixedIdInPath('id', eventTypeId);

const maxLocations = 20;
const maxQuestions = 50;
const maxOptions = 100;
const maxEmbedOrigins = 20;
/** Thirty days. */
const maxMinutesBefore = 43_200;

const location = z
  .object({
    type: filledText(40).openapi({ description: 'Any word, such as `phone`, `in_person` or `google_meet`.' }),
    autoCreate: z.boolean().optional(),
    number: text(40).optional(),
    address: text(500).optional(),
    url: text(2_048).optional(),
  })
  .openapi('EventTypeLocation');

const question = z
  .object({
    label: filledText(200),
    type: z.enum(questionTypes),
    required: z
      .boolean()
      .default(false)
      .openapi({ description: 'A booking must then answer it; a checkbox with `true`.' }),
    options: z
      .array(filledText(200))
      .max(maxOptions, `Expected at most ${maxOptions} options.`)
      .optional()
      .openapi({ description: 'The options of a `select`, which needs at least one.' }),
  })
  .openapi('BookingQuestion', { description: 'A select has options.' });

const questions = z
  .array(question)
  .max(maxQuestions, `Expected at most ${maxQuestions} questions.`)
  .superRefine((given, context) => {
    for (const [index, { label }] of given.entries()) {
      if (given.findIndex((one) => one.label === label) === index) continue;
      context.addIssue({ code: 'custom', path: [index, 'label'], message: 'Another question has this label.' });
    }
  })
  .openapi({ description: 'Each has a label of its own.' });

/** In the characters of host names alone: the text becomes part of a header. */
const originPattern = /^https:\/\/[a-z0-9.-]+(?::\d{1,5})?$/;
const isOrigin = (text: string) => originPattern.test(text) && URL.canParse(text) && new URL(text).origin === text;

const embedOrigin = z
  .string()
  .max(300)
  .refine(isOrigin, 'Expected an origin such as https://www.example.com, without a path.')
  .openapi({ type: 'string', maxLength: 300, example: 'https://www.example.com' });

const minutes = (max: number, min = 0) => z.int().min(min).max(max);

const fields = {
  name: filledLine(100),
  duration: minutes(1_440, 1).openapi({ description: 'The length of a booking in minutes.' }),
  slug: z
    .string()
    .regex(/^[a-z0-9-]{1,100}$/, 'Expected 1 to 100 of a-z, 0-9 and -.')
    .openapi({ description: 'Unique among your event types. Default: a slug of the name.' }),
  description: text(2_000)
    .nullable()
    .openapi({ type: ['string', 'null'] }),
  locations: z.array(location).max(maxLocations, `Expected at most ${maxLocations} locations.`),
  bufferBefore: minutes(1_440).openapi({ description: 'Minutes kept free before each booking. Default 0.' }),
  bufferAfter: minutes(1_440).openapi({ description: 'Minutes kept free after each booking. Default 0.' }),
  minNotice: minutes(8_760).openapi({ description: 'Hours from now in which nothing can be booked. Default 0.' }),
  maxAdvance: minutes(3_650)
    .nullable()
    .openapi({ description: 'Days from today, of the host, that can be booked. Default null: no limit.' }),
  questions,
  reminders: z
    .array(minutes(maxMinutesBefore, 1))
    .max(maxReminders, `Expected at most ${maxReminders} reminders.`)
    .openapi({
      description: 'Minutes before the start at which the attendee is reminded by mail. Default a day and an hour.',
    }),
  embedOrigins: z.array(embedOrigin).max(maxEmbedOrigins, `Expected at most ${maxEmbedOrigins} origins.`).openapi({
    description: 'Origins whose pages may show the booking page in a frame. Default none: no page may.',
  }),
  isActive: z.boolean().openapi({ description: 'Default true. False: it has no free times and no page.' }),
  hostId: z
    .string()
    .nullable()
    .openapi({ description: 'The host whose time is booked. Default null: the default host.' }),
};

const { name, duration } = fields;
export const newEventTypeSchema = z
  .object({ ...z.object(fields).partial().shape, name, duration })
  .openapi('NewEventType');
export const eventTypeChangeSchema = z.object(fields).partial().openapi('EventTypeChange');

export const eventTypeSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    slug: z.string(),
    duration: z.int(),
    description: z.string().nullable(),
    locations: z.array(location),
    isActive: z.boolean(),
    bufferBefore: z.int(),
    bufferAfter: z.int(),
    minNotice: z.int(),
    maxAdvance: z.int().nullable(),
    questions: z.array(question),
    reminders: z.array(z.int()),
    embedOrigins: z.array(z.string()),
    bookingUrl: z
      .string()
      .nullable()
      .openapi({ description: 'The public page on which it is booked. Null without URL_SIGNING_KEY.' }),
    hostId: z.string().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .openapi('EventType');
export type EventTypeAnswer = z.output<typeof eventTypeSchema>;

export const eventTypeListSchema = z.object({
  eventTypes: z.array(eventTypeSchema).openapi({ description: `At most ${maxEventTypes}, newest first.` }),
});

export const deletedEventTypeSchema = z.object({ id: z.string(), deleted: z.literal(true) });

const given = { name: 'Intro call', duration: 30 };
const more = {
  description: 'A first talk.',
  locations: [{ type: 'phone', number: '+49 30 1234567' }],
  bufferAfter: 10,
  minNotice: 2,
  maxAdvance: 3_650,
  questions: [{ label: 'Company', type: 'text' as const, required: false }],
};
export const newEventTypeExamples = { A: given, B: { ...given, name: 'Consultation', ...more } };
export const eventTypeChangeExamples = { A: { bufferBefore: 5 }, B: { name: 'Introduction', slug: 'introduction' } };

const shown = {
  id: eventTypeId,
  ...given,
  ...more,
  slug: 'intro-call',
  isActive: true,
  bufferBefore: 0,
  reminders: [...defaultReminders],
  embedOrigins: [],
  bookingUrl: 'https://api.example.com/book/acme/intro-call',
  hostId: null,
  createdAt: exampleTime,
  updatedAt: exampleTime,
};
export const eventTypeExamples = alike(shown);
export const eventTypeListExamples = alike({ eventTypes: [shown] });
export const deletedEventTypeExamples = alike({ id: eventTypeId, deleted: true as const });
