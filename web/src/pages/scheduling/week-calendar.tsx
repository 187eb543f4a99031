import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Booking } from '../../../../sdk/typescript/src/index.ts';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { Json, RequestExample } from '../../components/code.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Copy } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { useFilters, useShown } from '../../components/filters.ts';
import { Facts, Loading } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Status } from '../../components/status.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';
import { addDays, dateText, mondayOf, placeInDay, readDate } from './week.ts';

const maxShown = 100;
/** The first hour that is shown, unless a booking begins earlier. */
const usualFirstHour = 6;
const hourRem = 2.5;
const dayName = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short' });
const timeOfDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

/** The bookings of a week, day by day. The week stands in the address. */
export function WeekCalendar() {
  const { api, key } = useSession();
  const { filters, set } = useFilters(['week']);
  const monday = mondayOf(readDate(filters.week) ?? new Date());
  const [shown, show] = useShown('booking');
  const bookings = useQuery({
    queryKey: key('bookings', dateText(monday)),
    queryFn: async ({ signal }) => {
      const found: Booking[] = [];
      // Days of the API are those of UTC: a day more on either side has every zone's week.
      const query = { start: dateText(addDays(monday, -1)), end: dateText(addDays(monday, 7)), limit: maxShown };
      for await (const booking of api.scheduling.bookings.list(query, { signal })) found.push(booking);
      return found;
    },
  });
  const days = Array.from({ length: 7 }, (_, index) => addDays(monday, index));
  const go = (weeks: number) => set({ week: dateText(addDays(monday, 7 * weeks)) });
  const confirmed = bookings.data?.filter(({ status }) => status === 'confirmed') ?? [];
  const placed = days.map((day) => ({ day, bookings: placeInDay(confirmed, day) }));
  const begins = placed.flatMap((one) => one.bookings.map(({ from }) => Math.floor(from / 60)));
  const firstHour = Math.min(usualFirstHour, ...begins);
  const hours = Array.from({ length: 24 - firstHour }, (_, index) => firstHour + index);
  return (
    <>
      <div className="mb-3 flex items-center gap-2">
        <Button onClick={() => go(-1)}>Earlier</Button>
        <Button onClick={() => set({ week: undefined })}>This week</Button>
        <Button onClick={() => go(1)}>Later</Button>
        <strong className="ml-2">
          {dayName.format(monday)} to {dayName.format(addDays(monday, 6))}
        </strong>
      </div>
      {bookings.error && <Problem error={bookings.error} retry={() => void bookings.refetch()} />}
      {bookings.isPending && <Loading what="bookings" />}
      {bookings.data && (
        <div className="relative overflow-x-auto rounded-lg border border-line bg-surface">
          <div className="grid min-w-3xl grid-cols-[3rem_repeat(7,1fr)]">
            <div aria-hidden="true" className="pt-8 text-right text-xs text-muted">
              {hours.map((hour) => (
                <div key={hour} className="pr-1" style={{ height: `${hourRem}rem` }}>
                  {hour}:00
                </div>
              ))}
            </div>
            {placed.map(({ day, bookings: ofDay }) => (
              <section key={day.getTime()} aria-label={dayName.format(day)} className="border-l border-line">
                <h2 className="m-0 h-8 px-2 py-1 text-xs font-medium text-muted">{dayName.format(day)}</h2>
                <ul className="relative m-0 list-none p-0" style={{ height: `${hours.length * hourRem}rem` }}>
                  {ofDay.map(({ item, from, to, column, columns }) => (
                    <li
                      key={item.id}
                      className="absolute p-px"
                      style={{
                        top: `${(from / 60 - firstHour) * hourRem}rem`,
                        height: `${Math.max(1.2, ((to - from) / 60) * hourRem)}rem`,
                        left: `${(100 * column) / columns}%`,
                        width: `${100 / columns}%`,
                      }}
                    >
                      <button
                        type="button"
                        onClick={() => show(item.id)}
                        className="size-full overflow-hidden rounded border-l-4 border-accent bg-raised px-1 text-left text-xs"
                      >
                        {timeOfDay.format(new Date(item.start))} {item.attendee.name}
                      </button>
                    </li>
                  ))}
                </ul>
              </section>
            ))}
          </div>
        </div>
      )}
      {bookings.data && confirmed.length === 0 && <p className="text-muted">No bookings in this week.</p>}
      <Dialog title="Booking" isOpen={shown !== undefined} onClose={() => show(undefined)} isWide>
        {shown !== undefined && <ShownBooking id={shown} onChanged={() => show(undefined)} />}
      </Dialog>
    </>
  );
}

/** A booking by its id, of any week and status. */
function ShownBooking({ id, onChanged }: { id: string; onChanged(): void }) {
  const { api, key } = useSession();
  const booking = useQuery({
    queryKey: key('bookings', 'one', id),
    queryFn: ({ signal }) => api.scheduling.bookings.get(id, { signal }),
  });
  if (booking.error) return <Problem error={booking.error} retry={() => void booking.refetch()} />;
  if (!booking.data) return <Loading what="the booking" />;
  return <BookingDetails booking={booking.data} onChanged={onChanged} />;
}

function BookingDetails({ booking, onChanged }: { booking: Booking; onChanged(): void }) {
  const { api, key, may, environment } = useSession();
  const queries = useQueryClient();
  const [start, setStart] = useState('');
  const body = { start: new Date(start || booking.start).toISOString() };
  const done = async (text: string) => {
    notify(text);
    onChanged();
    await queries.invalidateQueries({ queryKey: key('bookings') });
  };
  const reschedule = useAction(async () => {
    await api.scheduling.bookings.reschedule(booking.id, body as never);
    await done('The booking has been rescheduled.');
  });
  const cancel = async () => {
    await api.scheduling.bookings.delete(booking.id);
    await done('The booking has been cancelled.');
  };
  return (
    <>
      <Facts
        facts={[
          ['Status', <Status key="status" value={booking.status} />],
          ['Begins', <Time key="start" at={booking.start} />],
          ['Ends', <Time key="end" at={booking.end} />],
          ['Attendee', booking.attendee.name],
          ['E-mail', booking.attendee.email],
          ['Phone', booking.attendee.phone ?? '–'],
          ['Zone of the attendee', booking.attendee.timezone],
          ['Place', booking.location ? `${booking.location.type} ${booking.location.url ?? ''}` : '–'],
          ['Id', <Copy key="id" text={booking.id} />],
        ]}
      />
      {Object.keys(booking.responses).length > 0 && <Json label="Answers" value={booking.responses} />}
      {may('member') && booking.status === 'confirmed' && (
        <div className="mt-4 border-t border-line pt-3">
          {reschedule.error !== undefined && <Problem error={reschedule.error} />}
          <div className="flex flex-wrap items-end gap-2">
            <TextField
              label="New beginning"
              type="datetime-local"
              value={start}
              onChange={({ target }) => setStart(target.value)}
            />
            <Button className="mb-3" disabled={!start} isBusy={reschedule.isBusy} onClick={() => void reschedule.run()}>
              Reschedule
            </Button>
            <ConfirmButton
              look="danger"
              className="mb-3 ml-auto"
              question="Cancel this booking?"
              consequence="The attendee gets an e-mail."
              confirmLabel="Cancel the booking"
              request={{
                method: 'DELETE',
                path: `/api/v1/scheduling/bookings/${booking.id}`,
                call: `scheduling.bookings.delete('${booking.id}')`,
              }}
              onConfirm={cancel}
            >
              Cancel the booking
            </ConfirmButton>
          </div>
          <RequestExample
            {...exampleOf(
              {
                method: 'PATCH',
                path: `/api/v1/scheduling/bookings/${booking.id}/reschedule`,
                body,
                call: `scheduling.bookings.reschedule('${booking.id}', ${JSON.stringify(body)})`,
              },
              environment,
            )}
          />
        </div>
      )}
    </>
  );
}
