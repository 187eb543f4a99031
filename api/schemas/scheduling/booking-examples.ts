import { alike, bookingId, eventTypeId, exampleTime, hostId } from './values.ts';

const attendee = { name: 'Grace Hopper', email: 'grace@example.com' };
const start = '2030-06-12T09:00:00Z';

export const newBookingExamples = {
  A: { eventTypeId, start, attendee },
  B: {
    eventTypeId,
    start: '2030-06-12T11:00:00+02:00',
    attendee: { ...attendee, phone: '+1 555 0100', timezone: 'America/New_York' },
    responses: { Company: 'Navy' },
    metadata: { campaign: 'spring' },
  },
};

const page = 'https://api.example.com/b/3vQ9mXk0T7yLr2WcNf5bJA';
const effect = { status: 'pending' as const, attempts: 0, lastError: null, at: exampleTime };
const planned = [
  { ...effect, type: 'attendee_mail' as const },
  { ...effect, type: 'contact_mail' as const },
  { ...effect, type: 'calendar_entry' as const },
  { ...effect, type: 'reminder' as const, at: '2030-06-11T09:00:00.000Z' },
  { ...effect, type: 'reminder' as const, at: '2030-06-12T08:00:00.000Z' },
];
const shown = {
  id: bookingId,
  eventTypeId,
  hostId,
  status: 'confirmed' as const,
  start: '2030-06-12T09:00:00.000Z',
  end: '2030-06-12T09:30:00.000Z',
  attendee: { ...attendee, phone: null, timezone: 'UTC' },
  location: { type: 'phone', url: 'tel:+49301234567' },
  confirmationUrl: page,
  rescheduleUrl: `${page}/reschedule`,
  cancelUrl: `${page}/cancel`,
  responses: {},
  metadata: {},
  rescheduleCount: 0,
  effects: planned,
  createdAt: exampleTime,
  updatedAt: exampleTime,
};

const { id: _, status: __, attendee: ___, ...rest } = shown;
export const bookableExamples = alike({
  eventTypeId: rest.eventTypeId,
  start: rest.start,
  end: rest.end,
  location: rest.location,
});
export const bookingExamples = alike(shown);

export const rescheduleExamples = {
  A: { newStart: '2030-06-13T13:00:00Z' },
  B: { newStart: '2030-06-13T13:00:00Z', reason: 'A clash.', notifyAttendee: false },
};
export const rescheduledExamples = alike({
  ...shown,
  start: '2030-06-13T13:00:00.000Z',
  end: '2030-06-13T13:30:00.000Z',
  previousStart: shown.start,
  previousEnd: shown.end,
  rescheduleReason: 'A clash.',
  rescheduleCount: 1,
});
export const cancellationExamples = { A: {}, B: { reason: 'Not needed any more.' } };
export const cancelledExamples = alike({
  ...shown,
  status: 'cancelled' as const,
  effects: planned.slice(0, 3),
  cancelledAt: exampleTime,
  cancellationReason: 'Not needed any more.',
});
export const bookingListExamples = {
  A: { bookings: [shown], pagination: { total: 1, limit: 50, offset: 0, hasMore: false } },
  B: { bookings: [shown], total: 1, limit: 20, offset: 0 },
};

export const availabilityExamples = alike({
  slots: [
    { start: '2030-06-12T09:00:00+02:00', end: '2030-06-12T09:30:00+02:00', available: true },
    { start: '2030-06-12T09:30:00+02:00', end: '2030-06-12T10:00:00+02:00', available: false },
  ],
  timezone: 'Europe/Berlin',
});
