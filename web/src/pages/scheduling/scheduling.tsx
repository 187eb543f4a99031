import { Page } from '../../components/page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { Calendars } from './calendars.tsx';
import { EventTypes } from './event-types.tsx';
import { Hours } from './hours.tsx';
import { WeekCalendar } from './week-calendar.tsx';

/** Appointments: the week's bookings, what can be booked, when, and the calendars that it is compared with. */
export default function Scheduling() {
  return (
    <Page title="Scheduling">
      <Tabs
        tabs={[
          { name: 'bookings', title: 'Bookings', content: () => <WeekCalendar /> },
          { name: 'event-types', title: 'Event types', content: () => <EventTypes /> },
          { name: 'hours', title: 'Hours', content: () => <Hours /> },
          { name: 'calendars', title: 'Calendars', content: () => <Calendars /> },
        ]}
      />
    </Page>
  );
}
