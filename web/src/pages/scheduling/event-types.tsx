import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { EventType } from '../../../../sdk/typescript/src/index.ts';
import { exampleOf } from '../../api/example.ts';
import { ActionForm } from '../../components/action-form.tsx';
import { Button } from '../../components/button.tsx';
import { Json, RequestExample } from '../../components/code.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Copy } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { CheckField, TextArea, TextField } from '../../components/field.tsx';
import { useShown } from '../../components/filters.ts';
import { Empty, Facts, Loading } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Status } from '../../components/status.tsx';
import { Table, Whole } from '../../components/table.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

/** The event types, with the addresses of their pages. */
export function EventTypes() {
  const { api, key, may } = useSession();
  const queries = useQueryClient();
  const eventTypes = useQuery({
    queryKey: key('event-types'),
    queryFn: ({ signal }) => api.scheduling.eventTypes.list({ signal }).page(),
  });
  const [shown, show] = useShown('eventType');
  const remove = async (id: string) => {
    await api.scheduling.eventTypes.delete(id);
    await queries.invalidateQueries({ queryKey: key('event-types') });
  };
  return (
    <>
      {may('member') && (
        <div className="mb-3">
          <EventTypeButton />
        </div>
      )}
      {eventTypes.error && <Problem error={eventTypes.error} retry={() => void eventTypes.refetch()} />}
      {eventTypes.isPending && <Loading what="event types" />}
      {eventTypes.data?.items.length === 0 && (
        <Empty title="No event types yet">An event type is what people book: an intro call of 30 minutes.</Empty>
      )}
      {eventTypes.data && eventTypes.data.items.length > 0 && (
        <Table
          label="Event types"
          rows={eventTypes.data.items}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Name',
              cell: ({ name, description }) => (
                <>
                  <strong>{name}</strong>
                  {description && <span className="block text-xs text-muted">{description}</span>}
                </>
              ),
            },
            { title: 'State', cell: ({ isActive }) => <Status value={isActive ? 'active' : 'inactive'} /> },
            { title: 'Minutes', isNumber: true, cell: ({ duration }) => duration },
            { title: 'Page', isWideOnly: true, cell: (eventType) => <BookingLink eventType={eventType} /> },
            {
              title: 'Actions',
              cell: (eventType) =>
                may('member') && (
                  <span className="flex gap-2">
                    <EventTypeButton eventType={eventType} />
                    <ConfirmButton
                      look="danger"
                      question={`Delete ${eventType.name}?`}
                      consequence="It can no longer be booked."
                      confirmLabel="Delete"
                      request={{
                        method: 'DELETE',
                        path: `/api/v1/scheduling/event-types/${eventType.id}`,
                        call: `scheduling.eventTypes.delete('${eventType.id}')`,
                      }}
                      onConfirm={() => remove(eventType.id)}
                    >
                      Delete
                    </ConfirmButton>
                  </span>
                ),
            },
          ]}
        />
      )}
      {eventTypes.data && eventTypes.data.items.length > 0 && <Whole of={eventTypes.data.items} />}
      <Dialog title="Event type" isOpen={shown !== undefined} onClose={() => show(undefined)} isWide>
        {shown !== undefined && <ShownEventType id={shown} onSaved={() => show(undefined)} />}
      </Dialog>
    </>
  );
}

/** An event type by its id: its form, or its data for people who may not change it. */
function ShownEventType({ id, onSaved }: { id: string; onSaved(): void }) {
  const { api, key, may } = useSession();
  const found = useQuery({
    queryKey: key('event-types', id),
    queryFn: ({ signal }) => api.scheduling.eventTypes.get(id, { signal }),
  });
  if (found.error) return <Problem error={found.error} retry={() => void found.refetch()} />;
  if (!found.data) return <Loading what="the event type" />;
  const { data } = found;
  if (may('member')) return <EventTypeForm eventType={data} onSaved={onSaved} />;
  return (
    <>
      <Facts
        facts={[
          ['Name', data.name],
          ['State', <Status key="state" value={data.isActive ? 'active' : 'inactive'} />],
          ['Minutes', data.duration],
          ['Description', data.description || '–'],
          ['Page', <BookingLink key="page" eventType={data} />],
          ['Id', <Copy key="id" text={data.id} />],
        ]}
      />
      {data.questions.length > 0 && <Json label="Questions" value={data.questions} />}
    </>
  );
}

/** Where strangers book. */
function BookingLink({ eventType }: { eventType: EventType }) {
  const { bookingUrl } = eventType as { bookingUrl?: string | null };
  if (!bookingUrl) return <Copy text={eventType.id} isShort />;
  return (
    <span className="flex items-center gap-2">
      <a href={bookingUrl} target="_blank" rel="noreferrer">
        Open
      </a>
      <Copy text={bookingUrl} />
    </span>
  );
}

function EventTypeButton({ eventType }: { eventType?: EventType }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button look={eventType ? 'secondary' : 'primary'} onClick={() => setOpen(true)}>
        {eventType ? 'Edit' : 'New event type'}
      </Button>
      <Dialog title={eventType?.name ?? 'New event type'} isOpen={isOpen} onClose={() => setOpen(false)} isWide>
        <EventTypeForm eventType={eventType} onSaved={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function EventTypeForm({ eventType, onSaved }: { eventType: EventType | undefined; onSaved(): void }) {
  const { api, environment, key } = useSession();
  const queries = useQueryClient();
  const [name, setName] = useState(eventType?.name ?? '');
  const [description, setDescription] = useState(eventType?.description ?? '');
  const [numbers, setNumbers] = useState({
    duration: eventType?.duration ?? 30,
    bufferBefore: eventType?.bufferBefore ?? 0,
    bufferAfter: eventType?.bufferAfter ?? 0,
    minNotice: eventType?.minNotice ?? 0,
  });
  const [locations, setLocations] = useState(JSON.stringify(eventType?.locations ?? [], null, 2));
  const [questions, setQuestions] = useState(JSON.stringify(eventType?.questions ?? [], null, 2));
  const [isActive, setActive] = useState(eventType?.isActive ?? true);
  const bodyOf = () => ({
    name,
    description: description || null,
    ...numbers,
    locations: JSON.parse(locations) as EventType['locations'],
    questions: JSON.parse(questions) as EventType['questions'],
    isActive,
  });
  const save = useAction(async () => {
    const body = bodyOf();
    await (eventType ? api.scheduling.eventTypes.update(eventType.id, body) : api.scheduling.eventTypes.create(body));
    notify('Saved.');
    onSaved();
    await queries.invalidateQueries({ queryKey: key('event-types') });
  });
  let body: unknown = { name };
  try {
    body = bodyOf();
  } catch {
    // Places or questions are being typed.
  }
  const labels = {
    duration: 'Duration in minutes',
    bufferBefore: 'Minutes free before',
    bufferAfter: 'Minutes free after',
    minNotice: 'Hours of notice',
  };
  return (
    <ActionForm action={save}>
      <TextField label="Name" required value={name} onChange={({ target }) => setName(target.value)} />
      <TextArea
        label="Description (optional)"
        rows={2}
        value={description}
        onChange={({ target }) => setDescription(target.value)}
      />
      <div className="grid gap-x-3 md:grid-cols-2">
        {(Object.keys(numbers) as (keyof typeof numbers)[]).map((field) => (
          <TextField
            key={field}
            label={labels[field]}
            type="number"
            min={0}
            value={numbers[field]}
            onChange={({ target }) => setNumbers({ ...numbers, [field]: Number(target.value) })}
          />
        ))}
      </div>
      <div className="grid gap-x-3 md:grid-cols-2">
        <TextArea
          label="Places"
          hint='A JSON list: [{"type": "phone", "number": "+49 30 1234"}]'
          className="font-mono text-xs"
          value={locations}
          onChange={({ target }) => setLocations(target.value)}
        />
        <TextArea
          label="Questions"
          hint='A JSON list: [{"label": "Company", "type": "text", "required": true}]'
          className="font-mono text-xs"
          value={questions}
          onChange={({ target }) => setQuestions(target.value)}
        />
      </div>
      <CheckField label="Active" checked={isActive} onChange={({ target }) => setActive(target.checked)} />
      <div className="flex justify-end">
        <Button look="primary" type="submit" isBusy={save.isBusy}>
          Save
        </Button>
      </div>
      <RequestExample
        {...exampleOf(
          {
            method: eventType ? 'PATCH' : 'POST',
            path: `/api/v1/scheduling/event-types${eventType ? `/${eventType.id}` : ''}`,
            body,
            call: `scheduling.eventTypes.${eventType ? `update('${eventType.id}', ` : 'create('}${JSON.stringify(body)})`,
          },
          environment,
        )}
      />
    </ActionForm>
  );
}
