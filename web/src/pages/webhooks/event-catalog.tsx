export const EventCatalog = () => null;
