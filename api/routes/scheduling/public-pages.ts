import { createHash, randomBytes } from 'node:crypto';
import { OpenAPIHono } from '@hono/zod-openapi';
import { html } from 'hono/html';
import { findTimezone } from '../../../src/platform/core/timezone.ts';
import { findClaim, fingerprintOf, type IdempotencyClaim } from '../../../src/platform/database/idempotency.ts';
import type { Scope } from '../../../src/platform/database/scope.ts';
import { AppError } from '../../../src/platform/errors.ts';
import type { Environment } from '../../../src/platform/tenant.ts';
import { type Bookable, readBookable } from '../../../src/scheduling/availability/calendar-rules.ts';
import { chooseLocation, type NewBooking } from '../../../src/scheduling/bookings/booking-input.ts';
import type { BookingView } from '../../../src/scheduling/bookings/booking-view.ts';
import { createBooking } from '../../../src/scheduling/bookings/create-booking.ts';
import { findWeek } from '../../../src/scheduling/bookings/page-week.ts';
import { findPublicPage, type PublicEventType } from '../../../src/scheduling/bookings/public-pages.ts';
import { withWhom } from '../../../src/scheduling/core/mail-text.ts';
import { readInstant } from '../../../src/scheduling/core/read-times.ts';
import { getHost } from '../../../src/scheduling/hosts.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { statusOf } from '../../envelopes.ts';
import { allowFrames, answerPage, asPage, formChecks, showError } from '../../pages/form-page.ts';
import { joined, problem } from '../../pages/html-page.ts';
import { limitedRange } from '../../requests/client-address.ts';
import { checkForm, emptyForm, type FieldProblem, type FilledForm, readPublicForm } from './public-form.ts';
import { about, bookingForm, confirmation, type ShownEventType, timesOf } from './public-page-html.ts';

const maxFormBytes = 64 * 1024;
const maxZoneLength = 64;
const minuteMs = 60_000;

/** An open page: its event type, and the settings of its visitor. */
interface Opened {
  scope: Scope;
  eventType: PublicEventType;
  bookable: Bookable;
  shown: ShownEventType;
}

/** A form that is shown again. */
interface Refilled {
  filled: FilledForm;
  problems?: readonly FieldProblem[];
  /** Why its time cannot be booked. */
  refusal?: AppError;
  status?: 200 | 400;
}

const timeAt = (start: string | undefined, { eventType: { duration } }: Bookable) => {
  const at = start === undefined ? undefined : readInstant(start);
  return at === undefined ? undefined : { start: new Date(at), end: new Date(at + duration * minuteMs) };
};

/** The same form that is sent again is the same booking, as long as idempotency keys are kept. */
function claimOf({ eventType: { id } }: Opened, { token }: FilledForm, input: NewBooking): IdempotencyClaim {
  const key = createHash('sha256')
    .update(JSON.stringify([token, input]))
    .digest('base64url');
  return { method: 'POST', path: `/book/${id}`, key, fingerprint: fingerprintOf(null) };
}

/** The pages on which anybody books, without a key and without a script. */
export function publicPageRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { publicPages, bookingPages, addressLimits } = services;

  /** @throws AppError not_found */
  async function open(c: ApiContext, environment: Environment): Promise<Opened> {
    const slugs = { environment, organization: c.req.param('organization')!, eventType: c.req.param('eventType')! };
    const { scope, eventType } = await findPublicPage(services, slugs, c.get('correlationId'));
    allowFrames(c, eventType.embedOrigins);
    const bookable = await readBookable(scope, eventType.id);
    const host = await getHost(scope, bookable.hostId);
    const { description, organization } = eventType;
    const shown: ShownEventType = {
      page: c.req.path,
      withWhom: withWhom({ host: host.name, organization }),
      description,
      duration: bookable.eventType.duration,
      locations: bookable.locations,
      questions: bookable.questions,
      timezone: host.timezone,
      isChosen: false,
    };
    return inZone({ scope, eventType, bookable, shown }, c.req.query('timezone'));
  }

  /** @param name of a zone, as the visitor chose it; one that there is not is as none */
  function inZone(opened: Opened, name: string | undefined): Opened {
    const chosen = name === undefined || name.length > maxZoneLength ? undefined : findTimezone(name);
    if (chosen === undefined) return opened;
    return { ...opened, shown: { ...opened.shown, timezone: chosen, isChosen: true } };
  }

  const weekOf = ({ scope, bookable, shown: { timezone } }: Opened, date: string | undefined, near?: Date) =>
    findWeek(scope, bookable, { date, near, timezone });

  /** The form with its values. Without a time, or with one that cannot be booked, it offers others. */
  async function formPage(c: ApiContext, opened: Opened, { filled, problems = [], refusal, status = 200 }: Refilled) {
    const { shown, eventType, bookable } = opened;
    const asked = timeAt(filled.start, bookable);
    const time = asked && !refusal ? asked : await weekOf(opened, undefined, asked?.start);
    const form = bookingForm(shown, { filled, token: publicPages.formTokenOf(eventType.id), problems, time });
    const why = refusal ? problem(`${refusal.message} Choose another one.`) : '';
    return answerPage(c, eventType.name, html`${why}${about(shown)}${form}`, refusal ? statusOf(refusal) : status);
  }

  const confirmed = (c: ApiContext, { shown, eventType }: Opened, booking: Parameters<typeof confirmation>[2]) =>
    answerPage(c, 'Booked', confirmation(shown, eventType.name, booking));

  const placeOf = (booked: BookingView['location'], { locations }: Bookable) =>
    locations.find(({ type }) => type === booked?.type)?.address ?? null;

  /** The page for a program that fills in every field: it looks like a booking. Nothing is booked. */
  function pretend(c: ApiContext, opened: Opened, filled: FilledForm) {
    const { bookable } = opened;
    const [location] = bookable.locations.length > 0 ? [chooseLocation(bookable.locations, undefined)] : [null];
    return confirmed(c, opened, {
      name: filled.values.get('name') ?? '',
      email: filled.values.get('email') ?? '',
      time: timeAt(filled.start, bookable) ?? null,
      location,
      place: placeOf(location, bookable),
      url: bookingPages.linksOf(randomBytes(17).toString('base64url').slice(0, 22)).confirmationUrl!,
    });
  }

  async function book(c: ApiContext, environment: Environment) {
    const atFirst = await open(c, environment);
    const filled = await readPublicForm(c, atFirst.bookable.questions);
    const opened = inZone(atFirst, filled.timezone);
    const { scope, bookable, eventType, shown } = opened;
    if (filled.website !== '') return pretend(c, opened, filled);
    if (!publicPages.acceptsForm(filled.token, eventType.id)) {
      const message = 'It was open for too long, or is not that of this page. Check it and send it again.';
      return formPage(c, opened, { filled, problems: [{ field: '', label: 'The form', message }], status: 400 });
    }
    const checked = checkForm(filled, bookable, shown.timezone);
    if ('problems' in checked) return formPage(c, opened, { filled, problems: checked.problems, status: 400 });
    const { input } = checked;
    const visitor = {
      address: limitedRange(c.get('clientAddress')()),
      email: input.attendee.email,
      environmentKey: scope.environmentKey,
    };
    try {
      const claim = claimOf(opened, filled, input);
      const make = () => createBooking(services, scope, input, claim, 'page');
      const { outcome } = await addressLimits.countBooking(visitor, make).catch(async (error: unknown) => {
        // A form that is sent again is answered with its booking, also for a visitor who may make no further one.
        const isLimited = error instanceof AppError && error.kind === 'rate_limit_exceeded';
        if (isLimited && (await findClaim(scope, claim))) return make();
        throw error;
      });
      return confirmed(c, opened, {
        name: outcome.attendee.name,
        email: outcome.attendee.email,
        time: outcome,
        location: outcome.location,
        place: placeOf(outcome.location, bookable),
        url: bookingPages.linksOf(outcome.token).confirmationUrl!,
      });
    } catch (error) {
      const isOfTime = error instanceof AppError && (error.kind === 'conflict' || error.kind === 'unprocessable');
      if (!isOfTime) throw error;
      return formPage(c, opened, { filled, refusal: error });
    }
  }

  const routes = new OpenAPIHono<ApiEnv>();
  routes.onError(showError);
  routes.use('/*', asPage);
  const checks = formChecks(maxFormBytes);
  const paths = { live: '/:organization/:eventType', test: '/test/:organization/:eventType' } as const;
  for (const environment of ['live', 'test'] as const) {
    routes.get(paths[environment], async (c) => {
      const opened = await open(c, environment);
      const { shown, eventType, bookable } = opened;
      const { start, date } = c.req.query();
      if (timeAt(start, bookable)) {
        return formPage(c, opened, { filled: { ...emptyForm, start } });
      }
      const times = timesOf(shown, await weekOf(opened, date), date);
      return answerPage(c, eventType.name, joined(about(shown), times));
    });
    routes.post(paths[environment], ...checks, (c) => book(c, environment));
  }
  return routes;
}
