import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { BusinessHours } from '../../../../sdk/typescript/src/index.ts';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { TextArea, TextField } from '../../components/field.tsx';
import { Loading, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

/** When the organization can be booked. */
export function Hours() {
  const { api, key } = useSession();
  const hours = useQuery({
    queryKey: key('hours'),
    queryFn: ({ signal }) => api.scheduling.businessHours.get({ signal }),
  });
  if (!hours.data) {
    if (hours.error) return <Problem error={hours.error} retry={() => void hours.refetch()} />;
    return <Loading what="hours" />;
  }
  return (
    <>
      {hours.error && <Problem error={hours.error} retry={() => void hours.refetch()} />}
      {/* What is typed stays when the same is read again. */}
      <HoursForm key={JSON.stringify(hours.data)} hours={hours.data} />
    </>
  );
}

function HoursForm({ hours }: { hours: BusinessHours }) {
  const { api, environment, key, may } = useSession();
  const queries = useQueryClient();
  const [timezone, setTimezone] = useState(hours.timezone ?? '');
  const [week, setWeek] = useState<Record<string, string>>(
    Object.fromEntries(
      weekdays.map((day) => [day, ((hours.default as Record<string, string[]> | null)?.[day] ?? []).join(', ')]),
    ),
  );
  const [exceptions, setExceptions] = useState(JSON.stringify(hours.exceptions, null, 2));
  const [holidays, setHolidays] = useState(hours.holidays.join(', '));
  const items = (text: string) => text.split(',').flatMap((item) => item.trim() || []);
  // Without a restriction every day is empty too. It stays one until a day has hours.
  const isUnrestricted = hours.default === null && weekdays.every((day) => items(week[day] ?? '').length === 0);
  const bodyOf = () => ({
    timezone: timezone || null,
    default: isUnrestricted ? null : Object.fromEntries(weekdays.map((day) => [day, items(week[day] ?? '')])),
    exceptions: JSON.parse(exceptions) as BusinessHours['exceptions'],
    holidays: items(holidays),
  });
  const save = useAction(async () => {
    await api.scheduling.businessHours.put(bodyOf() as never);
    notify('Saved.');
    await queries.invalidateQueries({ queryKey: key('hours') });
  });
  let body: unknown = {};
  try {
    body = bodyOf();
  } catch {
    // The exceptions are being typed.
  }
  return (
    <Section title="Business hours">
      <fieldset disabled={!may('member')} className="m-0 border-0 p-0">
        {save.error !== undefined && <Problem error={save.error} />}
        <TextField
          label="Time zone"
          value={timezone}
          placeholder="Europe/Berlin"
          onChange={({ target }) => setTimezone(target.value)}
        />
        <p className="text-sm text-muted">
          Ranges such as 09:00-12:00, 13:00-17:00.{' '}
          {isUnrestricted
            ? 'No hours are set: each host can be booked at any of their own times.'
            : 'An empty day is closed.'}
        </p>
        <div className="grid gap-x-3 md:grid-cols-2">
          {weekdays.map((day) => (
            <TextField
              key={day}
              label={day[0]!.toUpperCase() + day.slice(1)}
              value={week[day]}
              onChange={({ target }) => setWeek({ ...week, [day]: target.value })}
            />
          ))}
        </div>
        <TextArea
          label="Exceptions"
          hint='A JSON list: [{"date": "2026-12-24", "name": "Christmas Eve", "hours": null}]'
          className="font-mono text-xs"
          value={exceptions}
          onChange={({ target }) => setExceptions(target.value)}
        />
        <TextField
          label="Holiday calendars"
          hint="Codes of countries and regions, separated by commas."
          value={holidays}
          onChange={({ target }) => setHolidays(target.value)}
        />
        {may('member') && (
          <>
            <Button look="primary" isBusy={save.isBusy} onClick={() => void save.run()}>
              Save hours
            </Button>
            <RequestExample
              {...exampleOf(
                {
                  method: 'PUT',
                  path: '/api/v1/scheduling/business-hours',
                  body,
                  call: `scheduling.businessHours.put(${JSON.stringify(body)})`,
                },
                environment,
              )}
            />
          </>
        )}
      </fieldset>
    </Section>
  );
}
