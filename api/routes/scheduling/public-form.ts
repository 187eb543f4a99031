// The form in which a visitor books: its fields, and their problems.
import { createHash } from 'node:crypto';
import { AppError, type FieldError } from '../../../src/platform/errors.ts';
import type { Bookable } from '../../../src/scheduling/availability/calendar-rules.ts';
import {
  bookingBody,
  checkResponses,
  chooseLocation,
  type NewBooking,
  readBooking,
} from '../../../src/scheduling/bookings/booking-input.ts';
import type { Question } from '../../../src/scheduling/entities.ts';
import type { ApiContext } from '../../context.ts';
import { readForm, typedText } from '../../pages/form-page.ts';

/** Fifty questions, and what every form has. */
const maxFields = 80;

/** The values of a visitor, as texts, by the names of the fields. */
export interface FilledForm {
  start: string | undefined;
  timezone: string | undefined;
  token: string;
  /** The page hides this field: only a program fills it in. */
  website: string;
  values: ReadonlyMap<string, string>;
}

export interface FieldProblem {
  /** The name of the field. */
  field: string;
  label: string;
  message: string;
}

/** The name of the field of a question: its label may be any text, and stays the same when questions change their order. */
export const fieldOf = ({ label }: Pick<Question, 'label'>): string =>
  `answer-${createHash('sha256').update(label).digest('hex').slice(0, 16)}`;

export const emptyForm: FilledForm = {
  start: undefined,
  timezone: undefined,
  token: '',
  website: '',
  values: new Map(),
};

/** @throws AppError unsupported_media_type, validation_error */
export async function readPublicForm(c: ApiContext, questions: readonly Question[]): Promise<FilledForm> {
  const fields = await readForm(c, maxFields);
  const names = ['name', 'email', 'phone', 'location', ...questions.map(fieldOf)];
  return {
    start: fields.get('start') ?? undefined,
    timezone: fields.get('timezone') ?? undefined,
    token: fields.get('token') ?? '',
    website: typedText(fields, 'website'),
    values: new Map(names.map((name) => [name, typedText(fields, name)])),
  };
}

function responsesOf(questions: readonly Question[], values: FilledForm['values']): Record<string, unknown> {
  const answers = questions.flatMap((question): [string, unknown][] => {
    const text = values.get(fieldOf(question)) ?? '';
    if (question.type === 'checkbox') return [[question.label, text !== '']];
    return text === '' ? [] : [[question.label, text]];
  });
  return Object.fromEntries(answers);
}

const ownFields: Record<string, { field: string; label: string }> = {
  start: { field: 'start', label: 'Time' },
  'attendee.name': { field: 'name', label: 'Your name' },
  'attendee.email': { field: 'email', label: 'Your e-mail address' },
  'attendee.phone': { field: 'phone', label: 'Your telephone number' },
  'location.type': { field: 'location', label: 'Where' },
  responses: { field: '', label: 'Answers' },
};

/** The problems by the rules of the API, in the words of the form. */
function problemOf({ path, message }: FieldError, questions: readonly Question[], values: FilledForm['values']) {
  const question = questions.find(({ label }) => path === `responses.${label}`);
  const found = question
    ? { field: fieldOf(question), label: question.label }
    : (ownFields[path] ?? ownFields.responses!);
  if (question?.type === 'checkbox') return { ...found, message: 'This must be ticked.' };
  if (path === 'location.type' || question?.type === 'select')
    return { ...found, message: 'Choose one of the options.' };
  if (path === 'start') return { ...found, message: 'Choose a time.' };
  const isEmpty = (path === 'attendee.name' || path === 'attendee.email') && !values.get(found.field);
  return { ...found, message: isEmpty ? 'Required.' : message };
}

/** The refusal of a check. */
function errorsOf(check: () => unknown): FieldError[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return (error.facts?.errors as FieldError[] | undefined) ?? [];
  }
}

/**
 * Checks a form by the rules of the API.
 * @param timezone that of the attendee
 * @returns the booking that is asked for, or what is wrong with each field
 */
export function checkForm(
  { start, values }: FilledForm,
  { eventTypeId, questions, locations }: Bookable,
  timezone: string,
): { input: NewBooking } | { problems: FieldProblem[] } {
  const [phone, location] = [values.get('phone') ?? '', values.get('location') ?? ''];
  const responses = responsesOf(questions, values);
  const body = bookingBody.safeParse({
    eventTypeId,
    start,
    attendee: { name: values.get('name') ?? '', email: values.get('email') ?? '', ...(phone && { phone }), timezone },
    responses,
    ...(location && { location: { type: location } }),
  });
  const issues = (body.error?.issues ?? []).map(({ path, message }) => ({ path: path.join('.'), message }));
  const errors = [
    ...issues.filter(({ path }, index) => issues.findIndex((one) => one.path === path) === index),
    ...errorsOf(() => chooseLocation(locations, location || undefined)),
    ...errorsOf(() => checkResponses(questions, responses)),
  ];
  if (body.data && errors.length === 0) return { input: readBooking(body.data) };
  return { problems: errors.map((one) => problemOf(one, questions, values)) };
}
