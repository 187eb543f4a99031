import { OpenAPIHono } from '@hono/zod-openapi';
import { clock } from '../../../src/platform/clock.ts';
import { findTimezone } from '../../../src/platform/core/timezone.ts';
import type { Scope } from '../../../src/platform/database/scope.ts';
import { AppError, invalid } from '../../../src/platform/errors.ts';
import { checkToken, findPage } from '../../../src/scheduling/bookings/booking-pages.ts';
import { cancelBooking, rescheduleBooking } from '../../../src/scheduling/bookings/change-booking.ts';
import { findPageWeek, getPageBooking, type PageBooking } from '../../../src/scheduling/bookings/page-bookings.ts';
import { answersOf, withWhom } from '../../../src/scheduling/core/mail-text.ts';
import { readInstant } from '../../../src/scheduling/core/read-times.ts';
import type { Services } from '../../../src/services.ts';
import { AddressLimiter } from '../../../src/tenancy/address-limiter.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { statusOf } from '../../envelopes.ts';
import { answerPage, asPage, formChecks, readForm, showError, typedText } from '../../pages/form-page.ts';
import { problem } from '../../pages/html-page.ts';
import { cancelForm, facts, joined, links, rescheduleForm, type ShownBooking, timeOf, zoneForm } from './page-html.ts';

const requestsPerMinute = 30;
const maxFormBytes = 16 * 1024;
/** The forms of the pages have three. */
const maxFields = 20;
const maxReasonLength = 500;
const maxZoneLength = 64;

/** An open page: whose it is, and how its reader wants to see it. */
interface Opened {
  scope: Scope;
  bookingId: string;
  isHost: boolean;
  booking: PageBooking;
  /** As a path, and as a whole address. */
  page: string;
  url: string;
  timezone: string;
  /** Whether the reader chose the zone. */
  isChosen: boolean;
}

const shown = ({ booking, url, isHost, timezone }: Opened, now = clock.now()): ShownBooking => ({
  url,
  name: booking.name,
  withWhom: withWhom(booking),
  attendee: booking.attendee.name,
  forHost: isHost
    ? { email: booking.attendee.email, phone: booking.attendee.phone, answers: answersOf(booking) }
    : null,
  start: booking.start,
  end: booking.end,
  timezone,
  location: booking.location,
  place: booking.place,
  status: booking.status,
  isOver: booking.end.getTime() <= now,
  hasStarted: booking.start.getTime() <= now,
});

interface PageForm {
  start: string | undefined;
  timezone: string | undefined;
  reason: string | null;
}

async function readPageForm(c: ApiContext): Promise<PageForm> {
  const form = await readForm(c, maxFields);
  const reason = typedText(form, 'reason');
  if ([...reason].length > maxReasonLength) {
    throw invalid([{ path: 'reason', message: 'The reason is too long.' }], 'The reason is too long.');
  }
  const timezone = form.get('timezone') ?? undefined;
  return { start: form.get('start') ?? undefined, timezone, reason: reason === '' ? null : reason };
}

export function bookingPageRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const limiter = new AddressLimiter(requestsPerMinute, 60);
  const { database, addressLimits } = services;

  /** @param name of a zone, as the reader chose it; one that there is not is as none */
  function inZone(opened: Omit<Opened, 'timezone' | 'isChosen'>, name: string | undefined): Opened {
    const { isHost, booking } = opened;
    const chosen = name === undefined || name.length > maxZoneLength ? undefined : findTimezone(name);
    return {
      ...opened,
      timezone: chosen ?? (isHost ? booking.hostTimezone : booking.attendee.timezone),
      isChosen: chosen !== undefined,
    };
  }

  /** The booking of the requested page. @throws AppError not_found, rate_limit_exceeded */
  async function open(c: ApiContext): Promise<Opened> {
    const token = c.req.param('token')!;
    // Only what could be a token is remembered.
    checkToken(token);
    limiter.take(token);
    const { scope, bookingId, isHost } = await findPage(database, token, c.get('correlationId'));
    const url = services.bookingPages.linksOf(token).confirmationUrl!;
    const opened = {
      scope,
      bookingId,
      isHost,
      url,
      page: `/b/${token}`,
      booking: await getPageBooking(scope, bookingId),
    };
    return inZone(opened, c.req.query('timezone'));
  }

  async function reschedulePage(c: ApiContext, opened: Opened, date?: string, refusal?: AppError) {
    const { scope, bookingId, page, timezone, isChosen } = opened;
    const title = 'Choose another time';
    const of = shown(opened);
    const { status, hasStarted } = of;
    const current = facts(of);
    const why = status === 'cancelled' ? 'The booking is cancelled.' : hasStarted ? 'The booking has started.' : '';
    if (why !== '') return answerPage(c, title, joined(problem(why), current), refusal ? statusOf(refusal) : 200);
    const week = await findPageWeek(scope, bookingId, { date, timezone });
    const form = rescheduleForm({ page, timezone, isChosen, date }, week);
    if (!refusal) return answerPage(c, title, joined(current, form));
    return answerPage(c, title, joined(problem(refusal.message), current, form), statusOf(refusal));
  }

  /** A refusal by the rules of bookings, or of the sent form. */
  const isRefusal = (error: unknown): error is AppError =>
    error instanceof AppError && ['validation_error', 'conflict', 'unprocessable'].includes(error.kind);

  const routes = new OpenAPIHono<ApiEnv>();
  routes.onError(showError);
  routes.use('/:token/*', asPage);
  routes.use('/:token', asPage);
  const checks = formChecks(maxFormBytes);

  routes.get('/:token', async (c) => {
    const opened = await open(c);
    const [of, { page, timezone }] = [shown(opened), opened];
    const content = joined(facts(of), links(page, of), zoneForm(page, timezone));
    return answerPage(c, of.status === 'cancelled' ? 'Cancelled' : 'Your booking', content);
  });
  routes.get('/:token/reschedule', async (c) => reschedulePage(c, await open(c), c.req.query('date')));
  routes.post('/:token/reschedule', ...checks, async (c) => {
    const opened = await open(c);
    let chosen: string | undefined;
    try {
      const { start, timezone, reason } = await readPageForm(c);
      chosen = timezone;
      if (start === undefined || readInstant(start) === undefined) {
        throw invalid([{ path: 'start', message: 'Choose a time.' }], 'Choose a time.');
      }
      const { scope, bookingId } = opened;
      await addressLimits.countMove(bookingId, () =>
        rescheduleBooking(services, scope, bookingId, {
          newStart: start,
          reason,
          notifyAttendee: true,
          source: 'page',
        }),
      );
      const { isChosen, timezone: zone } = inZone(opened, chosen);
      return c.redirect(isChosen ? `${opened.page}?${new URLSearchParams({ timezone: zone })}` : opened.page, 303);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return reschedulePage(c, inZone(await open(c), chosen), undefined, error);
    }
  });
  routes.get('/:token/cancel', async (c) => {
    const opened = await open(c);
    const [of, { page }] = [shown(opened), opened];
    if (of.status === 'cancelled')
      return answerPage(c, 'Cancelled', joined(problem('The booking is cancelled.'), facts(of)));
    if (of.isOver) return answerPage(c, 'Your booking', joined(problem('The booking is over.'), facts(of)));
    return answerPage(c, 'Cancel the booking', joined(facts(of), cancelForm(page)));
  });
  routes.post('/:token/cancel', ...checks, async (c) => {
    const opened = await open(c);
    const { scope, bookingId, page, booking, timezone } = opened;
    const { reason } = await readPageForm(c);
    if (booking.status === 'confirmed' && shown(opened).isOver) {
      const time = timeOf(booking.start, booking.end, timezone);
      return answerPage(c, 'Your booking', joined(problem(`The booking is over: ${time}.`)), 400);
    }
    await cancelBooking(services, scope, bookingId, { reason, notifyAttendee: true, source: 'page' });
    return c.redirect(page, 303);
  });
  return routes;
}
