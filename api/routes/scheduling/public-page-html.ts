import { html } from 'hono/html';
import { locationName, oneLine } from '../../../src/scheduling/core/mail-text.ts';
import type { OfferedLocation, Question } from '../../../src/scheduling/entities.ts';
import { type Html, joined } from '../../pages/html-page.ts';
import { byDay, placeOf, timeChoices, timeOf, type Week, weekLinks, zoneForm } from './page-html.ts';
import { type FieldProblem, type FilledForm, fieldOf } from './public-form.ts';

/** What the pages show of an event type. */
export interface ShownEventType {
  /** The path of the page. */
  page: string;
  /** The host and the organization. */
  withWhom: string;
  description: string | null;
  /** Minutes. */
  duration: number;
  locations: readonly OfferedLocation[];
  questions: readonly Question[];
  timezone: string;
  /** Whether the zone is one that the visitor chose: it is kept from page to page. */
  isChosen: boolean;
}

const locationText = ({ type, address }: OfferedLocation) =>
  address === undefined || address === '' ? locationName(type) : `${locationName(type)}: ${oneLine(address)}`;

export const about = ({ withWhom, description, duration, locations }: ShownEventType) => html`
      ${description === null || description === '' ? '' : html`<p class="said">${description}</p>`}
      <dl>
        <dt>With</dt><dd>${withWhom}</dd>
        <dt>How long</dt><dd>${duration === 1 ? '1 minute' : `${duration} minutes`}</dd>
        ${locations.length === 0 ? '' : html`<dt>Where</dt>${locations.map((one) => html`<dd>${locationText(one)}</dd>`)}`}
      </dl>`;

const addressOf = ({ page, timezone, isChosen }: ShownEventType, query: Record<string, string>) =>
  `${page}?${new URLSearchParams({ ...query, ...(isChosen && { timezone }) })}`;

/** A week of times, each of which leads to the form. @param date the requested first day */
export function timesOf(shown: ShownEventType, week: Week, date: string | undefined): Html {
  const { page, timezone } = shown;
  const days = byDay(week.choices, timezone).map(
    ([day, times]) => html`
      <h2>${day}</h2>
      <ul class="times">${times.map(
        ({ start, label }) => html`
        <li><a href="${addressOf(shown, { start })}" aria-label="${day}, ${label}">${label}</a></li>`,
      )}
      </ul>`,
  );
  return html`
      ${zoneForm(page, timezone, date === undefined ? {} : { date })}
      <p>Choose a time (${timezone}).</p>
      ${weekLinks(week, (day) => addressOf(shown, { date: day }))}
      ${days.length === 0 ? html`<p>No time is free in this week.</p>` : days}`;
}

const inputs: Record<Exclude<Question['type'], 'textarea' | 'select' | 'checkbox'>, Record<string, string>> = {
  text: { type: 'text' },
  email: { type: 'email' },
  phone: { type: 'tel' },
  // People write numbers with characters that a number field would refuse; the rules are those of the API.
  number: { type: 'text', inputmode: 'decimal' },
};

interface Field {
  name: string;
  label: string;
  type: Question['type'];
  isRequired: boolean;
  options?: readonly { value: string; text: string }[];
  autocomplete?: string;
  maxLength?: number;
}

const attributes = (values: Record<string, string | undefined>) =>
  Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [html` ${name}="${value}"`]));

/** A field with its problem. */
function fieldHtml(field: Field, values: FilledForm['values'], problems: readonly FieldProblem[]): Html {
  const { name, label, type, isRequired, options = [], autocomplete, maxLength } = field;
  const value = values.get(name) ?? '';
  const wrong = problems.find((one) => one.field === name)?.message;
  const common = attributes({
    id: name,
    name,
    required: isRequired ? '' : undefined,
    autocomplete,
    maxlength: maxLength === undefined ? undefined : String(maxLength),
    'aria-invalid': wrong === undefined ? undefined : 'true',
    'aria-describedby': wrong === undefined ? undefined : `${name}-wrong`,
  });
  const text = isRequired ? label : `${label} (optional)`;
  const message = wrong === undefined ? '' : html`<p class="wrong" id="${name}-wrong">${wrong}</p>`;
  if (type === 'checkbox') {
    const checked = value === '' ? '' : html` checked`;
    return html`<div><label><input type="checkbox" value="yes"${common}${checked}> ${text}</label>${message}</div>`;
  }
  const control =
    type === 'textarea'
      ? html`<textarea rows="4"${common}>${value}</textarea>`
      : type === 'select'
        ? html`<select${common}><option value="">Choose</option>${options.map(
            (one) =>
              html`<option value="${one.value}"${one.value === value ? html` selected` : ''}>${one.text}</option>`,
          )}</select>`
        : html`<input class="field"${attributes(inputs[type])}${common} value="${value}">`;
  return html`<div><label for="${name}">${text}</label>${control}${message}</div>`;
}

function fieldsOf({ locations, questions }: ShownEventType): Field[] {
  const places = locations.map((one) => ({ value: one.type, text: locationText(one) }));
  return [
    { name: 'name', label: 'Your name', type: 'text', isRequired: true, autocomplete: 'name', maxLength: 200 },
    {
      name: 'email',
      label: 'Your e-mail address',
      type: 'email',
      isRequired: true,
      autocomplete: 'email',
      maxLength: 254,
    },
    {
      name: 'phone',
      label: 'Your telephone number',
      type: 'phone',
      isRequired: false,
      autocomplete: 'tel',
      maxLength: 40,
    },
    ...(places.length > 1
      ? [{ name: 'location', label: 'Where', type: 'select' as const, isRequired: true, options: places }]
      : []),
    ...questions.map((question) => ({
      name: fieldOf(question),
      label: question.label,
      type: question.type,
      isRequired: question.required,
      options: (question.options ?? []).map((option) => ({ value: option, text: option })),
    })),
  ];
}

/** The problems, at the beginning of the form. */
const summary = (problems: readonly FieldProblem[]) =>
  problems.length === 0
    ? ''
    : html`<div class="problem" role="alert"><p>The booking was not made.</p><ul>${problems.map(
        ({ field, label, message }) =>
          html`<li>${field === '' ? label : html`<a href="#${field}">${label}</a>`}: ${message}</li>`,
      )}</ul></div>`;

interface ShownForm {
  filled: FilledForm;
  /** For the form that is shown. */
  token: string;
  problems: readonly FieldProblem[];
  /** The time that is booked, or others to choose from. */
  time: { start: Date; end: Date } | Week;
}

/** The form of a booking. */
export function bookingForm(shown: ShownEventType, { filled, token, problems, time }: ShownForm): Html {
  const { page, timezone } = shown;
  const other = html`<p><a href="${addressOf(shown, {})}">Choose another time</a></p>`;
  const when =
    'start' in time
      ? html`<input type="hidden" name="start" value="${time.start.toISOString()}">`
      : time.choices.length === 0
        ? html`<p>No time is free in this week.</p>`
        : timeChoices(time.choices, timezone);
  return html`
      ${summary(problems)}
      ${'start' in time ? html`<dl><dt>When</dt><dd>${timeOf(time.start, time.end, timezone)}</dd></dl>` : ''}
      ${other}
      <form method="post" action="${page}">
        <input type="hidden" name="token" value="${token}">
        <input type="hidden" name="timezone" value="${timezone}">
        <div hidden><label for="website">Leave this empty</label>
        <input id="website" name="website" tabindex="-1" autocomplete="off"></div>
        ${when}
        ${fieldsOf(shown).map((field) => fieldHtml(field, filled.values, problems))}
        <p><button type="submit">Book</button></p>
      </form>`;
}

/** The page for a visitor after the booking. */
interface ShownConfirmation {
  name: string;
  email: string;
  /** Null where the form named no time. */
  time: { start: Date; end: Date } | null;
  location: { type: string; url: string | null } | null;
  place: string | null;
  /** The page of the booking. */
  url: string;
}

// The page of a booking is never shown in a frame, so its link leaves the frame that this page may be in.
export const confirmation = (
  { withWhom, timezone }: ShownEventType,
  what: string,
  { name, email, time, location, place, url }: ShownConfirmation,
): Html =>
  joined(html`
      <p role="status">The booking is confirmed. A mail was sent to ${email}.</p>
      <dl>
        <dt>What</dt><dd>${what}</dd>
        <dt>With</dt><dd>${withWhom}</dd>
        ${time ? html`<dt>When</dt><dd>${timeOf(time.start, time.end, timezone)}</dd>` : ''}
        <dt>Who</dt><dd>${name}</dd>
        ${placeOf({ location, place })}
      </dl>
      <p><a href="${url}" target="_blank" rel="noreferrer">See, move or cancel the booking</a></p>`);
